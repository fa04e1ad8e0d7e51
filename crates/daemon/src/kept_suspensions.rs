//! Where switching was found to hurt is kept in a file, so that it is known to the next agent.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use kirikae_guard::{Estimate, HARM};
use kirikae_policy::Scope;
use serde::{Deserialize, Serialize};

const FILE: &str = "suspended";
/// The file's form.
const VERSION: u32 = 1;
/// No file of ours is longer.
const MOST_BYTES: u64 = 1 << 20;
/// So many are kept, the latest.
const MOST: usize = 1024;

/// Connections that are only observed because switching hurts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suspension {
    /// Name of the scope.
    pub scope: String,
    /// Of the scope's settings: with others it is another experiment; see [`settings_of`].
    pub settings: String,
    /// The cgroup; None: the scope as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// The lower end, the estimate and the upper end of what was found.
    pub ratio: [f64; 3],
    /// Bursts that it is based on.
    pub bursts: u64,
    /// When, seconds of the wall clock.
    pub since: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    suspended: Vec<Suspension>,
}

impl Suspension {
    /// What was found.
    pub fn found(&self) -> Estimate {
        let [least, ratio, most] = self.ratio;
        Estimate { ratio, least, most, bursts: self.bursts }
    }

    fn is_sound(&self) -> bool {
        let [least, ratio, most] = self.ratio;
        least > HARM && least <= ratio && ratio <= most && most.is_finite()
    }
}

/// A number that tells settings of a scope apart (FNV-1a, 64 bits).
pub(crate) fn settings_of(scope: &Scope) -> String {
    let algorithms = scope.table.names().join(" ");
    let said = format!("{}; {}; {algorithms}", scope.matching, scope.unusual().join("; "));
    let add = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", said.bytes().fold(0xcbf2_9ce4_8422_2325, add))
}

/// Writes them into the file, all or nothing. Where there are none, there is no file.
///
/// # Errors
/// Fails with one sentence for the operator if the file cannot be written; then what was there before is still there.
pub(crate) fn save(directory: &Path, suspended: &[Suspension]) -> Result<(), String> {
    write(directory, suspended).map_err(|error| {
        format!("what is only observed is not saved in {}: {error}", directory.display())
    })
}

fn write(directory: &Path, suspended: &[Suspension]) -> io::Result<()> {
    let file = directory.join(FILE);
    if suspended.is_empty() {
        return match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let mut latest = suspended.to_vec();
    latest.sort_by_key(|it| it.since);
    let suspended = latest.split_off(latest.len().saturating_sub(MOST));
    let text = serde_json::to_string_pretty(&Kept { version: VERSION, suspended })?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let new = directory.join(format!("{FILE}.new"));
    let mut options = File::options();
    let mut to = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    to.write_all(text.as_bytes())?;
    to.sync_all()?;
    fs::rename(new, file)
}

/// Reads what was saved: nothing if there is no file. One that [`save`] has not written is set aside, in the place of
/// one that was before.
///
/// # Errors
/// Fails with one sentence for the operator if the file cannot be read, or was set aside.
pub(crate) fn load(directory: &Path) -> Result<Vec<Suspension>, String> {
    let file = directory.join(FILE);
    let mut bytes = Vec::new();
    let read = File::open(&file).and_then(|it| it.take(MOST_BYTES).read_to_end(&mut bytes));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| format!("{} cannot be read: {error}", file.display()))?,
    };
    parse(&bytes).map_err(|wrong| {
        let aside = directory.join(format!("{FILE}.unreadable"));
        let kept = match fs::rename(&file, &aside) {
            Ok(()) => format!("it is {} now", aside.display()),
            Err(error) => format!("it could not be set aside: {error}"),
        };
        format!("nothing is known of where switching hurt from {}: {wrong}; {kept}", file.display())
    })
}

/// Reads the text of a file.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Suspension>, String> {
    // What it says is not repeated: nobody knows what it is.
    let Kept { version, suspended } = serde_json::from_slice(bytes).map_err(|error| {
        format!("line {}, column {} is not of ours", error.line(), error.column())
    })?;
    if version != VERSION {
        return Err(format!("its version is {version}, not {VERSION}"));
    }
    if suspended.len() > MOST {
        return Err(format!("{} are suspended in it; {MOST} can be", suspended.len()));
    }
    match suspended.iter().position(|it| !it.is_sound()) {
        Some(place) => Err(format!("number {} of it is no harm that was found", place + 1)),
        None => Ok(suspended),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn suspension(scope: &str, cgroup: Option<&str>) -> Suspension {
        Suspension {
            scope: scope.into(),
            settings: "0123456789abcdef".into(),
            cgroup: cgroup.map(str::to_owned),
            ratio: [2.3, 2.87, 3.57],
            bursts: 315,
            since: 1_800_000_000,
        }
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("state");
        assert_eq!(load(&below).unwrap(), []);
        let all =
            [suspension("web \"\n", None), suspension("web", Some("system.slice/x\u{1b}.service"))];
        save(&below, &all).unwrap();
        assert_eq!(load(&below).unwrap(), all);
        assert_eq!(fs::metadata(below.join(FILE)).unwrap().mode() & 0o777, 0o600);
        let files: Vec<_> =
            fs::read_dir(&below).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(files, [FILE], "nothing is left of the writing");
        save(&below, &[]).unwrap();
        assert!(!below.join(FILE).exists());
        save(&below, &[]).unwrap();
    }

    #[test]
    fn the_latest_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let at = |since| Suspension { since, ..suspension("web", Some("a")) };
        let all: Vec<_> = (0..MOST as u64 + 10).rev().map(at).collect();
        save(directory.path(), &all).unwrap();
        let loaded = load(directory.path()).unwrap();
        assert_eq!((loaded.len(), loaded[0].since), (MOST, 10));
    }

    #[test]
    fn what_is_torn_or_foreign_is_set_aside_and_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        save(directory.path(), &[suspension("web", None)]).unwrap();
        let text = fs::read(&file).unwrap();
        let foreign = |bytes: &[u8]| parse(bytes).unwrap_err();
        for end in 0..text.len() {
            foreign(&text[..end]);
        }
        let said = String::from_utf8(text).unwrap();
        let edited = |from: &str, to: &str| foreign(said.replace(from, to).as_bytes());
        assert!(edited("\"version\": 1", "\"version\": 2").contains("version is 2"));
        assert!(edited("2.3", "0.9").contains("number 1"));
        assert!(edited("3.57", "1e999").contains("is not of ours"));
        assert!(edited("bursts", "b\\n").contains("is not of ours"));
        foreign(&b"[".repeat(100_000));
        foreign(b"\xff\0\xff");
        fs::write(&file, vec![b' '; 3 << 20]).unwrap();
        let told = load(directory.path()).unwrap_err();
        assert!(told.contains("suspended.unreadable") && told.lines().count() == 1, "{told}");
        assert_eq!(load(directory.path()).unwrap(), []);
    }
}
