//! Restores connections to the algorithm that they had.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::AddAssign;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{IterOpts, MapHandle, MapIterOpts};

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::iterator::count_lines;
use crate::namespaces::{Namespaces, describe, reachable};
use crate::object;
use crate::walks::{Directory, IteratorFile, LONGEST, Walker};

pub(crate) const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/restore.bpf.o"));
const LOADING: &str = "loading the restorer";

/// How long connections in Recovery or Loss are waited for: most leave it within a round trip.
pub(crate) const WAIT_FOR_RECOVERY: Duration = Duration::from_secs(2);
/// How long the last pass may take: a stop has to end.
const LAST_PASS: Duration = Duration::from_secs(1);
const BETWEEN_PASSES: Duration = Duration::from_millis(50);

/// How many of the connections that had been met were restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Restored to the algorithm they had.
    pub connections: usize,
    /// How many of each network namespace were not restored, because something went wrong in it, or the kernel no
    /// longer has the algorithm they had. What restores them stays pinned, for [`undo`](crate::undo).
    pub remaining: BTreeMap<String, usize>,
    /// Those of network namespaces to which no process or name leads. What restores them stays pinned, too.
    pub unreachable: usize,
    /// Closed sockets that their programs still hold, and that keep the algorithm they had last,
    /// and its programs in the kernel, until these close them.
    pub closed: usize,
    /// What went wrong, for the operator.
    pub failed: Vec<String>,
}

impl Restored {
    /// Whether nothing is left that [`undo`](crate::undo) could do.
    pub fn is_complete(&self) -> bool {
        !self.has_failed() && self.unreachable == 0
    }

    /// Whether something was not done that could be done.
    pub fn has_failed(&self) -> bool {
        !self.remaining.is_empty() || !self.failed.is_empty()
    }

    /// What was not restored, and what went wrong, for the operator.
    pub fn troubles(&self) -> impl Iterator<Item = String> {
        let remaining = self.remaining.iter().map(|(namespace, connections)| {
            format!("{connections} connections of {namespace} could not be restored")
        });
        let unreachable = (self.unreachable > 0).then(|| {
            format!(
                "{} connections could not be restored: no process or name leads to their network namespace",
                self.unreachable
            )
        });
        remaining.chain(unreachable).chain(self.failed.iter().cloned())
    }
}

impl AddAssign for Restored {
    fn add_assign(&mut self, other: Restored) {
        self.connections += other.connections;
        for (namespace, connections) in other.remaining {
            *self.remaining.entry(namespace).or_default() += connections;
        }
        self.unreachable += other.unreachable;
        self.closed += other.closed;
        self.failed.extend(other.failed);
    }
}

/// The programs that restore the connections of a map. They are pinned, and the map with them.
pub(crate) struct Restorer {
    directory: PathBuf,
    _hidden: Option<Directory>,
}

/// By these names they are pinned. Those that run over sockets come first, then those that run over what is remembered.
const PROGRAMS: [&str; 4] = [RESTORE, RESTORE_IN_RECOVERY, REMAINING, CLOSED];
const RESTORE: &str = "restore";
const RESTORE_IN_RECOVERY: &str = "restore_in_recovery";
const REMAINING: &str = "remaining";
const CLOSED: &str = "closed";

impl Restorer {
    /// One that ends with the process.
    pub fn hidden(connections: &MapHandle) -> Result<Restorer, Error> {
        let hidden = Directory::mount().doing(|| LOADING.into())?;
        pin(connections, &hidden.path())?;
        Ok(Restorer { directory: hidden.path(), _hidden: Some(hidden) })
    }

    /// Pins one that stays in the kernel until this directory is removed, which is made.
    pub fn pin(connections: &MapHandle, directory: &Path) -> Result<(), Error> {
        fs::create_dir(directory).doing(|| format!("making {}", directory.display()))?;
        pin(connections, directory)
    }

    /// One that is pinned there, maybe by another version. None if a part of it is missing: then an agent died before it
    /// switched anything, or after everything was restored.
    pub fn at(directory: &Path) -> Option<Restorer> {
        let is_whole = PROGRAMS.iter().all(|program| directory.join(program).exists());
        is_whole.then(|| Restorer { directory: directory.to_owned(), _hidden: None })
    }

    /// Restores every connection. Those in recovery are waited for until then. While the switcher is attached, it must
    /// take in none again.
    pub fn restore(&self, walker: &mut Walker, until: Instant) -> Result<Restored, Error> {
        let (gently, in_recovery_too) = (self.file(RESTORE), self.file(RESTORE_IN_RECOVERY));
        let mut restored = Restored::default();
        let (remaining, failed) = loop {
            let late = Instant::now() > until;
            let iterator = if late { &in_recovery_too } else { &gently };
            let pass_until = Instant::now() + if late { LAST_PASS } else { LONGEST };
            let pass = walker.sum(iterator, &Namespaces::Every, pass_until, count_lines);
            restored.connections += pass.total;
            let remaining = self.remaining()?;
            if late || remaining.is_empty() {
                break (remaining, pass.failed);
            }
            thread::sleep(BETWEEN_PASSES);
        };
        let reachable = reachable(&remaining.keys().copied().collect());
        for (namespace, connections) in remaining {
            if reachable.contains(&namespace) {
                restored.remaining.insert(describe(namespace), connections);
            } else {
                restored.unreachable += connections;
            }
        }
        if !restored.remaining.is_empty() {
            restored.failed = failed;
        }
        restored.closed = count_lines(&self.read(CLOSED)?);
        Ok(restored)
    }

    /// How many connections are still remembered of each namespace, by its inode.
    fn remaining(&self) -> Result<BTreeMap<u32, usize>, Error> {
        let doing = || "counting connections".to_owned();
        let text = String::from_utf8(self.read(REMAINING)?).map_err(io::Error::other);
        let mut counted = BTreeMap::new();
        for namespace in text.doing(doing)?.lines() {
            *counted.entry(namespace.parse().doing(doing)?).or_default() += 1;
        }
        Ok(counted)
    }

    fn file(&self, program: &str) -> IteratorFile {
        IteratorFile::at(self.directory.join(program))
    }

    fn read(&self, program: &str) -> Result<Vec<u8>, Error> {
        let doing = || format!("reading {}", self.directory.join(program).display());
        self.file(program).read().doing(doing)
    }
}

/// Loads the programs, and pins them in a directory.
fn pin(connections: &MapHandle, directory: &Path) -> Result<(), Error> {
    let object = object::load(OBJECT, LOADING, |object| {
        object.keep_only(&[CONNECTIONS])?;
        object.share(CONNECTIONS, connections)
    })?;
    for name in PROGRAMS {
        let options = match name {
            RESTORE | RESTORE_IN_RECOVERY => IterOpts::None,
            _ => IterOpts::Map(MapIterOpts::from_fd(connections.as_fd())),
        };
        let mut programs = object.progs_mut();
        let program = programs.find(|program| program.name() == name);
        let program = program.unwrap_or_else(|| panic!("restore.bpf.c has the program {name}"));
        let mut link = program.attach_iter_with_opts(options).doing(|| LOADING.into())?;
        let doing = || format!("pinning the restorer in {}", directory.display());
        link.pin(directory.join(name)).doing(doing)?;
    }
    Ok(())
}
