//! What is known of paths is kept in a file while no agent runs.

pub mod text;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kirikae_agent::{KnownPath, own_namespace};
use nix::net::if_::if_nameindex;

/// The directory of the file where systemd names none.
const DIRECTORY: &str = "/var/lib/kirikae";
const FILE: &str = "paths";
/// What stands in place of an interface that the kernel did not know.
const NO_INTERFACE: &str = "-";

/// The names of the interfaces of this network namespace. An index means something only until the host or the
/// interface is started again.
#[derive(Debug)]
pub struct Interfaces(BTreeMap<u32, String>);

impl Interfaces {
    /// Those that there are now.
    pub fn read() -> io::Result<Interfaces> {
        let all = if_nameindex()?;
        let named =
            |it: &nix::net::if_::Interface| (it.index(), it.name().to_string_lossy().into_owned());
        Ok(Interfaces(all.iter().map(named).collect()))
    }

    /// The name of an interface.
    pub fn name(&self, index: u32) -> Option<&str> {
        if index == 0 {
            return Some(NO_INTERFACE);
        }
        self.0.get(&index).map(String::as_str)
    }

    fn index(&self, name: &str) -> Option<u32> {
        if name == NO_INTERFACE {
            return Some(0);
        }
        self.0.iter().find(|(_, known)| *known == name).map(|(index, _)| *index)
    }
}

impl FromIterator<(u32, String)> for Interfaces {
    fn from_iter<I: IntoIterator<Item = (u32, String)>>(named: I) -> Interfaces {
        Interfaces(named.into_iter().collect())
    }
}

/// The directory that systemd has made for the service's state, or the usual one.
pub(crate) fn directory() -> PathBuf {
    let named = std::env::var_os("STATE_DIRECTORY").filter(|named| !named.is_empty());
    named.map_or(DIRECTORY.into(), PathBuf::from)
}

/// Writes the paths of this network namespace into the file, all or nothing. Where there are none, there is no file.
///
/// # Errors
/// Fails if the file cannot be written; then what was there before is still there.
pub(crate) fn save(directory: &Path, paths: &[KnownPath]) -> io::Result<()> {
    let namespace = own_namespace()?;
    let own: Vec<KnownPath> =
        paths.iter().filter(|path| path.namespace == namespace).cloned().collect();
    if own.is_empty() {
        return remove(&directory.join(FILE));
    }
    let text = text::write(&own, &Interfaces::read()?, SystemTime::now());
    // Nobody else has to know to whom this host talks.
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let new = directory.join(format!("{FILE}.new"));
    let mut options = File::options();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, directory.join(FILE))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads what was saved and is no older than `lifetime`: nothing if there is no file. A file in which everything is
/// older is removed. One that [`save`] has not written is set aside, in the place of one that was before.
///
/// # Errors
/// Fails with one sentence for the operator if the file cannot be read, or was set aside.
pub(crate) fn load(directory: &Path, lifetime: Duration) -> Result<Vec<KnownPath>, String> {
    let file = directory.join(FILE);
    let unreadable = |error: io::Error| format!("{} cannot be read: {error}", file.display());
    let bytes = match fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(unreadable)?,
    };
    let (namespace, interfaces) = own_namespace()
        .and_then(|namespace| Ok((namespace, Interfaces::read()?)))
        .map_err(unreadable)?;
    let now = SystemTime::now();
    let text = String::from_utf8(bytes).map_err(|_| "it is no text".to_owned());
    let read = text.and_then(|text| text::read(&text, namespace, &interfaces, lifetime, now));
    let paths = read.map_err(|wrong| {
        let aside = directory.join(format!("{FILE}.unreadable"));
        let kept = match fs::rename(&file, &aside) {
            Ok(()) => format!("it is {} now", aside.display()),
            Err(error) => format!("it could not be set aside: {error}"),
        };
        format!("nothing is known of paths from {}: {wrong}; {kept}", file.display())
    })?;
    if paths.is_empty() {
        remove(&file).map_err(|error| format!("{} cannot be removed: {error}", file.display()))?;
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn what_is_saved_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("state");
        assert_eq!(load(&below, Duration::MAX).unwrap(), []);
        let paths = [KnownPath { namespace: own_namespace().unwrap(), ..KnownPath::default() }];
        save(&below, &paths).unwrap();
        assert_eq!(load(&below, Duration::MAX).unwrap(), paths);
        let mode = fs::metadata(below.join(FILE)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        let files: Vec<_> =
            fs::read_dir(&below).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(files, [FILE], "nothing is left of the writing");
        save(&below, &[]).unwrap();
        assert!(!below.join(FILE).exists(), "nothing is known any more");
    }

    #[test]
    fn what_is_too_old_does_not_stay() {
        let directory = tempfile::tempdir().unwrap();
        let age_s = 100;
        let path = KnownPath { namespace: own_namespace().unwrap(), age_s, ..KnownPath::default() };
        save(directory.path(), &[path]).unwrap();
        assert_eq!(load(directory.path(), Duration::from_secs(50)).unwrap(), []);
        assert!(!directory.path().join(FILE).exists());
    }

    #[test]
    fn a_foreign_file_is_set_aside_and_named() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(FILE), "something else\n").unwrap();
        let told = load(directory.path(), Duration::MAX).unwrap_err();
        assert!(told.contains("checksum") && told.contains("paths.unreadable"), "{told}");
        assert_eq!(load(directory.path(), Duration::MAX).unwrap(), []);
        fs::write(directory.path().join(FILE), "and another\n").unwrap();
        load(directory.path(), Duration::MAX).unwrap_err();
        let files: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|it| it.unwrap()).collect();
        assert_eq!(files.len(), 1, "one is kept: {files:?}");
        assert_eq!(fs::read_to_string(files[0].path()).unwrap(), "and another\n");
    }
}
