//! What the agent keeps in the file system while it runs: a lock, and pins that let the kernel go on
//! switching when the agent dies. All of it is in directories of our own, so that all that is found there is
//! ours.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use kirikae_algorithms::Algorithm;
use libbpf_rs::{Link, MapHandle};
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::error::{Doing, Error};
use crate::layout;
use crate::registration::Registration;
use crate::restore::{self, Restored, Restorer};
use crate::walks::Walker;

/// The agent's directory. All that is below it is ours.
pub const DIRECTORY: &str = "/run/kirikae";
/// The mount point of the host's BPF file system. A host with systemd always has one.
const HOST_BPF: &str = "/sys/fs/bpf";
/// The directory of our pins on it. If a service has a view of the file system of its own (ProtectSystem=),
/// its own mounts vanish when it dies, but these pins do not.
const PINS_ON_HOST: &str = "/sys/fs/bpf/kirikae";
/// The mount point of a BPF file system of our own, for a host that has none.
const PINS: &str = "/run/kirikae/bpf";
const SWITCHER: &str = "switcher";
/// Directories of restorers: this, and a number. Each is needed until all of its connections are restored.
const RESTORER: &str = "restorer-";
/// The map that earlier versions have pinned without a restorer.
const CONNECTIONS: &str = "connections";

/// A lock on the directory, held by the one agent that may pin. The kernel releases it when the agent dies.
pub(crate) struct State {
    _lock: Flock<File>,
}

/// What a dead agent left pinned. A part may be missing if the agent died while it started or stopped.
#[derive(Default)]
pub(crate) struct Pinned {
    pub switcher: Option<Link>,
    /// The registered algorithms with their names.
    pub algorithms: Vec<(&'static str, Registration)>,
}

impl State {
    /// Takes the lock; refuses while another agent holds it.
    pub fn acquire() -> Result<State, Error> {
        loop {
            DirBuilder::new()
                .recursive(true)
                // Others may enter; the modes of the files in it say who may use them.
                .mode(0o711)
                .create(DIRECTORY)
                .doing(|| format!("creating {DIRECTORY}"))?;
            let directory = File::open(DIRECTORY).doing(|| format!("opening {DIRECTORY}"))?;
            let lock = Flock::lock(directory, FlockArg::LockExclusiveNonblock).map_err(|_| {
                Error::Failed {
                    doing: "taking over this host's connections".into(),
                    cause: "another kirikae agent is running; stop it first (Ctrl-C or SIGTERM)"
                        .into(),
                }
            })?;
            // If an agent stopped in between, it has removed the directory that we hold.
            if is_at(&lock, DIRECTORY) {
                return Ok(State { _lock: lock });
            }
        }
    }

    /// Whether an agent died here, or is running, or systemd has made the directory for one.
    pub fn exists() -> bool {
        [DIRECTORY, PINS_ON_HOST].iter().any(|directory| Path::new(directory).exists())
    }

    /// Whether no agent left anything.
    pub fn is_empty(&self) -> bool {
        is_empty(DIRECTORY) && !Path::new(PINS_ON_HOST).exists()
    }

    /// Makes the directory of pins, on a file system of our own if the host has none. There may be restorers in it
    /// that are still needed.
    pub fn mount_pins(&self) -> Result<(), Error> {
        let pins = pins();
        let doing = || format!("making {pins}");
        DirBuilder::new().recursive(true).mode(0o700).create(pins).doing(doing)?;
        refuse_others(pins)?;
        if pins == PINS && !is_bpf_file_system(PINS) {
            mount_bpf(PINS)?;
        }
        Ok(())
    }

    /// Opens what a dead agent left pinned, on either file system. (The kernel puts files of its own there,
    /// too.)
    pub fn pinned(&self) -> Result<Pinned, Error> {
        let mut pinned = Pinned::default();
        for path in entries()? {
            if path.ends_with(SWITCHER) {
                let doing = || format!("opening {}", path.display());
                pinned.switcher = Some(Link::open(&path).doing(doing)?);
            } else if let Some(algorithm) = Algorithm::all().find(|it| path.ends_with(it.name())) {
                pinned.algorithms.push((algorithm.name(), Registration::open(&path)?));
            }
        }
        Ok(pinned)
    }

    pub fn pin_switcher(&self, link: &mut Link) -> Result<(), Error> {
        link.pin(pin(SWITCHER)).doing(|| "pinning the switcher".into())
    }

    pub fn pin_algorithm(&self, name: &str, registered: &mut Registration) -> Result<(), Error> {
        registered.pin(&pin(name))
    }

    /// Keeps a restorer until its directory is removed.
    pub fn pin_restorer(&self, connections: &MapHandle) -> Result<(), Error> {
        let mut directories = (1..).map(|number: u32| pin(&format!("{RESTORER}{number}")));
        let directory = directories.find(|it| !it.exists()).expect("there are more numbers");
        Restorer::pin(connections, &directory)
    }

    /// Runs every restorer that is pinned, and takes away those that are needed no more.
    pub fn restore(&self, walker: &mut Walker, until: Instant) -> Result<Restored, Error> {
        let mut restored = Restored::default();
        for path in entries()?.into_iter().filter(|path| is_needed(path)) {
            match restore_by(&path, walker, until) {
                Ok(done) => restored += done,
                Err(error) => restored.failed.push(error.to_string()),
            }
        }
        Ok(restored)
    }

    /// Removes everything but restorers, and last the directory and with it the lock. Where systemd made the directory
    /// for the service it is a mount, which cannot be removed: it stays, empty.
    pub fn remove(self) -> Result<(), Error> {
        [PINS_ON_HOST, PINS].into_iter().try_for_each(refuse_others)?;
        for path in entries_of(PINS_ON_HOST)?.into_iter().filter(|path| !is_needed(path)) {
            let doing = || format!("removing {}", path.display());
            fs::remove_file(&path).or_else(absent).doing(doing)?;
        }
        if is_empty(PINS_ON_HOST) {
            let doing = || format!("removing {PINS_ON_HOST}");
            fs::remove_dir(PINS_ON_HOST).or_else(absent).doing(doing)?;
        }
        if !entries_of(PINS)?.iter().any(|path| is_needed(path)) {
            // Nothing is mounted if starting failed; what is still mounted cannot be removed below.
            let _ = umount2(PINS, MntFlags::MNT_DETACH);
        }
        let doing = || format!("removing {DIRECTORY}");
        for path in entries_of(DIRECTORY)? {
            let removed = match path == Path::new(PINS) {
                true if is_bpf_file_system(PINS) => continue,
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            removed.or_else(absent).doing(doing)?;
        }
        match fs::remove_dir(DIRECTORY) {
            Err(_) if entries_of(DIRECTORY)?.iter().all(|path| path == Path::new(PINS)) => Ok(()),
            removed => removed.doing(doing),
        }
    }
}

/// Runs a restorer, and takes it away if it is needed no more.
fn restore_by(path: &Path, walker: &mut Walker, until: Instant) -> Result<Restored, Error> {
    let removing = || format!("removing {}", path.display());
    if path.ends_with(CONNECTIONS) {
        let map =
            MapHandle::from_pinned_path(path).doing(|| format!("opening {}", path.display()))?;
        if !layout::is_same(&map, restore::OBJECT)? {
            return Err(Error::Failed {
                doing: format!("restoring the connections of {}", path.display()),
                cause: "another version of kirikae has made it and left nothing that restores them"
                    .into(),
            });
        }
        let restored = Restorer::hidden(&map)?.restore(walker, until)?;
        if restored.is_complete() {
            fs::remove_file(path).doing(removing)?;
        }
        return Ok(restored);
    }
    let restored = match Restorer::at(path) {
        Some(restorer) => restorer.restore(walker, until)?,
        None => Restored::default(),
    };
    if restored.is_complete() {
        fs::remove_dir_all(path).doing(removing)?;
    }
    Ok(restored)
}

fn is_needed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name == CONNECTIONS.as_bytes() || name.starts_with(RESTORER.as_bytes())
}

/// What is pinned, on either file system.
fn entries() -> Result<Vec<PathBuf>, Error> {
    [PINS_ON_HOST, PINS].into_iter().try_for_each(refuse_others)?;
    Ok([entries_of(PINS_ON_HOST)?, entries_of(PINS)?].concat())
}

/// Refuses a directory of pins that is there and that others than root could have written: on some hosts everybody may
/// make one beside it.
pub(crate) fn refuse_others(directory: &str) -> Result<(), Error> {
    match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).doing(|| format!("looking at {directory}")),
        Ok(it) if it.is_dir() && it.uid() == 0 && it.mode() & 0o077 == 0 => Ok(()),
        Ok(_) => Err(Error::Missing(format!(
            "{directory} is in the way: it is no directory of root's that is closed to others (mode 0700), so that \
             what is pinned in it may be anybody's. Remove it"
        ))),
    }
}

/// What is in a directory, which need not be there.
fn entries_of(directory: &str) -> Result<Vec<PathBuf>, Error> {
    let doing = || format!("listing {directory}");
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.doing(doing)?,
    };
    entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().doing(doing)
}

/// What is not there need not be removed.
fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn is_empty(directory: &str) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether this path leads to this file.
fn is_at(file: &File, path: &str) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(there)) => identity(held) == identity(there),
        _ => false,
    }
}

/// The directory in which an agent that starts now makes its pins.
fn pins() -> &'static str {
    if has_bpf_file_system() { PINS_ON_HOST } else { PINS }
}

pub(crate) fn mount_bpf(directory: &str) -> Result<(), Error> {
    let doing = || format!("mounting a BPF file system on {directory}");
    mount(Some("kirikae"), directory, Some("bpf"), MsFlags::empty(), Some("mode=0700")).doing(doing)
}

pub(crate) fn has_bpf_file_system() -> bool {
    is_bpf_file_system(HOST_BPF)
}

fn is_bpf_file_system(directory: &str) -> bool {
    statfs(directory).is_ok_and(|it| it.filesystem_type() == BPF_FS_MAGIC)
}

fn pin(name: &str) -> PathBuf {
    Path::new(pins()).join(name)
}
