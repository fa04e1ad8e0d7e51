//! What the agent keeps in the file system while it runs: a lock, and pins that let the kernel go on
//! switching when the agent dies. All of it is in directories of our own, so that all that is found there is
//! ours.

use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use kirikae_algorithms::Algorithm;
use libbpf_rs::{Link, MapHandle};
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::error::{Doing, Error};
use crate::registration::Registration;

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
const CONNECTIONS: &str = "connections";

/// A lock on the directory, held by the one agent that may pin. The kernel releases it when the agent dies.
pub(crate) struct State {
    _lock: Flock<File>,
}

/// What a dead agent left pinned. A part may be missing if the agent died while it started or stopped.
pub(crate) struct Pinned {
    pub switcher: Option<Link>,
    pub connections: Option<MapHandle>,
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

    /// Makes the directory of pins, on a file system of our own if the host has none. What a dead agent left
    /// must have been undone before.
    pub fn mount_pins(&self) -> Result<(), Error> {
        let pins = pins();
        let doing = || format!("making {pins}");
        DirBuilder::new().mode(0o700).create(pins).doing(doing)?;
        if pins == PINS_ON_HOST {
            return Ok(());
        }
        mount_bpf(PINS)
    }

    /// Opens what a dead agent left pinned, on either file system. (The kernel puts files of its own there,
    /// too.)
    pub fn pinned(&self) -> Result<Pinned, Error> {
        let mut pinned = Pinned { switcher: None, connections: None, algorithms: Vec::new() };
        for directory in [PINS_ON_HOST, PINS] {
            pinned.open(directory)?;
        }
        Ok(pinned)
    }

    pub fn pin_switcher(&self, link: &mut Link) -> Result<(), Error> {
        link.pin(pin(SWITCHER)).doing(|| "pinning the switcher".into())
    }

    pub fn pin_algorithm(&self, name: &str, registered: &mut Registration) -> Result<(), Error> {
        registered.pin(&pin(name))
    }

    pub fn pin_connections(&self, map: &mut MapHandle) -> Result<(), Error> {
        map.pin(pin(CONNECTIONS)).doing(|| "pinning the map of connections".into())
    }

    /// Removes everything, and last the directory and with it the lock. Where systemd made the directory for the
    /// service it is a mount, which cannot be removed: it stays, empty.
    pub fn remove(self) -> Result<(), Error> {
        // Nothing is mounted if starting failed; what is still mounted cannot be removed below.
        let _ = umount2(PINS, MntFlags::MNT_DETACH);
        for directory in [PINS_ON_HOST, DIRECTORY] {
            match fs::remove_dir_all(directory) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) if directory == DIRECTORY && is_empty(directory) => {}
                removed => removed.doing(|| format!("removing {directory}"))?,
            }
        }
        Ok(())
    }
}

impl Pinned {
    /// Adds what is pinned in a directory, which need not be there.
    fn open(&mut self, directory: &str) -> Result<(), Error> {
        let listing = || format!("listing {directory}");
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.doing(listing)?,
        };
        for entry in entries {
            let path = entry.doing(listing)?.path();
            let doing = || format!("opening {}", path.display());
            if path.ends_with(CONNECTIONS) {
                self.connections = Some(MapHandle::from_pinned_path(&path).doing(doing)?);
            } else if path.ends_with(SWITCHER) {
                self.switcher = Some(Link::open(&path).doing(doing)?);
            } else if let Some(algorithm) = Algorithm::all().find(|it| path.ends_with(it.name())) {
                self.algorithms.push((algorithm.name(), Registration::open(&path)?));
            }
        }
        Ok(())
    }
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
    statfs(HOST_BPF).is_ok_and(|host| host.filesystem_type() == BPF_FS_MAGIC)
}

fn pin(name: &str) -> PathBuf {
    Path::new(pins()).join(name)
}
