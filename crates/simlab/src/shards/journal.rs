//! The places that are finished, so that a run that ended early can go on: a file beside the one that
//! is to be written, which begins as that of a shard does.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kirikae_results::{Error, While};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Header, Sweep, beside, line, results};

/// The open journal. Nobody else has it open.
pub(crate) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// Opens the journal beside a file that is to be written, and gives what is in it.
    ///
    /// # Errors
    /// One that is of another sweep, shard or code, or in use.
    pub fn open<S: Sweep, T: DeserializeOwned>(
        output: &Path,
        header: &Header<S>,
    ) -> Result<(Journal, BTreeMap<usize, T>), Error> {
        let path = beside(output, ".partial");
        let opening = || format!("opening {}", path.display());
        let mut options = File::options();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .of_directory(opening)?;
        if file.try_lock().is_err() {
            return Err(Error::Journal(format!(
                "{} is in use: {} is being made already",
                path.display(),
                output.display()
            )));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).during(opening)?;
        // The last line is torn where whoever wrote it was killed.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let done = if whole == 0 {
            BTreeMap::new()
        } else {
            let text = String::from_utf8_lossy(&text[..whole]);
            read(&text, header).map_err(|problem| {
                Error::Journal(format!(
                    "{}: {problem}; allowed: what this program wrote of shard {} of this sweep; \
                     remove it to begin anew",
                    path.display(),
                    header.shard,
                ))
            })?
        };
        let begin = if whole == 0 { line(header) } else { String::new() };
        file.set_len(whole as u64)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .and_then(|_| file.write_all(begin.as_bytes()))
            .during(|| format!("writing {}", path.display()))?;
        Ok((Journal { path, file: Mutex::new(file) }, done))
    }

    /// Adds a place.
    pub fn add(&self, place: usize, result: &impl Serialize) -> Result<(), Error> {
        let line = line(&(place, result));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).during(|| format!("writing {}", self.path.display()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it: what is to be written is there.
    pub fn remove(self) -> Result<(), Error> {
        fs::remove_file(&self.path).during(|| format!("removing {}", self.path.display()))
    }
}

/// What a whole journal says, or what is wrong with it.
fn read<S: Sweep, T: DeserializeOwned>(
    text: &str,
    expected: &Header<S>,
) -> Result<BTreeMap<usize, T>, String> {
    let mut lines = text.lines();
    let header: Option<Header<S>> = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let header = header.ok_or("found something else in line 1")?;
    if let Some(other) = header.other_code() {
        return Err(format!("other code wrote it: {other}"));
    }
    if let Some(other) = header.other_sweep(expected) {
        return Err(format!("found {other}"));
    }
    if header.shard != expected.shard {
        return Err(format!("found shard {}", header.shard));
    }
    results(lines, 2, expected)
}
