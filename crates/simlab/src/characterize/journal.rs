//! The places that are finished, so that a run that ended early can go on: a file beside the table,
//! with a line for what is measured and by which program, and then one for each place.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kirikae_results::{Error, While};
use serde::Serialize;

use super::grid_file::GridFile;
use super::measurement::Measurement;

/// A place's number, and what each algorithm did there.
type Line = (usize, Vec<Measurement>);

/// The open journal. Nobody else has it open.
pub(super) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

/// The first line: only the same program measures the same from the same grid.
#[derive(Serialize)]
struct Header<'a> {
    kirikae: &'static str,
    program: String,
    grid: &'a [String],
}

impl Journal {
    /// Opens the journal beside a table, and gives what is in it.
    ///
    /// # Errors
    /// One that is of another grid or program, or in use.
    pub fn open(
        table: &Path,
        grid: &GridFile,
    ) -> Result<(Journal, BTreeMap<usize, Vec<Measurement>>), Error> {
        let mut name = table.as_os_str().to_owned();
        name.push(".partial");
        let path = PathBuf::from(name);
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
                "{} is in use: this table is being built already",
                path.display()
            )));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).during(opening)?;
        // The last line is torn where whoever wrote it was killed.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let header = header(grid)?;
        let done = if whole == 0 {
            BTreeMap::new()
        } else {
            let text = String::from_utf8_lossy(&text[..whole]);
            read(&text, &header, grid).map_err(|problem| {
                Error::Journal(format!(
                    "{}: {problem}; allowed: what this program wrote of this grid; remove it to \
                     begin anew",
                    path.display()
                ))
            })?
        };
        file.set_len(whole as u64)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .and_then(|_| if whole == 0 { file.write_all(header.as_bytes()) } else { Ok(()) })
            .during(|| format!("writing {}", path.display()))?;
        Ok((Journal { path, file: Mutex::new(file) }, done))
    }

    /// Adds a place.
    pub fn add(&self, place: usize, measurements: &[Measurement]) -> Result<(), Error> {
        let line = line(&(place, measurements));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).during(|| format!("writing {}", self.path.display()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it: the table is written.
    pub fn remove(self) -> Result<(), Error> {
        fs::remove_file(&self.path).during(|| format!("removing {}", self.path.display()))
    }
}

/// What a whole journal says, or what is wrong with it.
fn read(
    text: &str,
    header: &str,
    grid: &GridFile,
) -> Result<BTreeMap<usize, Vec<Measurement>>, String> {
    let Some(lines) = text.strip_prefix(header) else {
        return Err("found the journal of another grid or another build of kirikae".into());
    };
    let mut done = BTreeMap::new();
    for (number, line) in (2..).zip(lines.lines()) {
        let read: Option<Line> = serde_json::from_str(line).ok();
        let fits = |(place, measurements): &Line| {
            *place < grid.grid.len() && measurements.len() == grid.algorithms.len()
        };
        let (place, measurements) =
            read.filter(fits).ok_or_else(|| format!("found something else in line {number}"))?;
        done.insert(place, measurements);
    }
    Ok(done)
}

fn header(grid: &GridFile) -> Result<String, Error> {
    let program = std::env::current_exe().and_then(fs::read);
    let mut hasher = DefaultHasher::new();
    hasher.write(&program.during(|| "reading this program's file".into())?);
    Ok(line(&Header {
        kirikae: env!("CARGO_PKG_VERSION"),
        program: format!("{:016x}", hasher.finish()),
        grid: &grid.lines,
    }))
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data") + "\n"
}
