//! Restores connections to the algorithm that they had.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::AddAssign;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{IterOpts, Link, MapHandle, MapIterOpts};

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::iterator::{read, read_lines};
use crate::namespaces::{Namespaces, describe};
use crate::object;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/restore.bpf.o"));
const LOADING: &str = "loading the restorer";

/// How long connections in Recovery or Loss are waited for: most leave it within a round trip.
const WAIT_FOR_RECOVERY: Duration = Duration::from_secs(2);
const BETWEEN_PASSES: Duration = Duration::from_millis(50);

/// How many of the connections that had been met were restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Restored to the algorithm they had.
    pub connections: usize,
    /// How many of each network namespace were not restored, because nothing leads to it, something went wrong in it,
    /// or the kernel no longer has the algorithm they had. What restores them stays pinned, for [`undo`](crate::undo).
    pub remaining: BTreeMap<String, usize>,
    /// Closed sockets that their programs still hold, and that keep the algorithm they had last,
    /// and its programs in the kernel, until these close them.
    pub closed: usize,
    /// What went wrong, for the operator.
    pub failed: Vec<String>,
}

impl Restored {
    /// Whether nothing is left that [`undo`](crate::undo) could do.
    pub fn is_complete(&self) -> bool {
        self.remaining.is_empty() && self.failed.is_empty()
    }

    /// What was not restored, and what went wrong, for the operator.
    pub fn troubles(&self) -> impl Iterator<Item = String> {
        let remaining = self.remaining.iter().map(|(namespace, connections)| {
            format!("{connections} connections of {namespace} could not be restored")
        });
        remaining.chain(self.failed.iter().cloned())
    }
}

impl AddAssign for Restored {
    fn add_assign(&mut self, other: Restored) {
        self.connections += other.connections;
        for (namespace, connections) in other.remaining {
            *self.remaining.entry(namespace).or_default() += connections;
        }
        self.closed += other.closed;
        self.failed.extend(other.failed);
    }
}

/// The programs that restore the connections of a map.
pub(crate) struct Restorer {
    /// By the names of their programs: `PROGRAMS`.
    links: [Link; 4],
}

/// Those that run over sockets, and those that run over what is remembered. They are pinned by these names.
const PROGRAMS: [&str; 4] = ["restore", "restore_in_recovery", "remaining", "closed"];

impl Restorer {
    pub fn load(connections: &MapHandle) -> Result<Restorer, Error> {
        let object = object::load(OBJECT, LOADING, |object| {
            object.keep_only(&[CONNECTIONS])?;
            object.share(CONNECTIONS, connections)
        })?;
        let attach = |name: &str| {
            let options = match name {
                "restore" | "restore_in_recovery" => IterOpts::None,
                _ => IterOpts::Map(MapIterOpts::from_fd(connections.as_fd())),
            };
            let mut programs = object.progs_mut();
            let program = programs.find(|program| program.name() == name);
            let program = program.unwrap_or_else(|| panic!("restore.bpf.c has the program {name}"));
            program.attach_iter_with_opts(options).doing(|| LOADING.into())
        };
        let [restore, in_recovery, remaining, closed] = PROGRAMS.map(attach);
        Ok(Restorer { links: [restore?, in_recovery?, remaining?, closed?] })
    }

    /// Opens what [`pin`](Restorer::pin) has pinned in a directory, also that of another version.
    pub fn open(directory: &Path) -> Result<Restorer, Error> {
        let open = |name: &str| {
            let path = directory.join(name);
            Link::open(&path).doing(|| format!("opening {}", path.display()))
        };
        let [restore, in_recovery, remaining, closed] = PROGRAMS.map(open);
        Ok(Restorer { links: [restore?, in_recovery?, remaining?, closed?] })
    }

    /// Keeps the programs in the kernel, with the map, until the directory is removed.
    pub fn pin(&mut self, directory: &Path) -> Result<(), Error> {
        let doing = || format!("pinning the restorer in {}", directory.display());
        fs::create_dir(directory).doing(doing)?;
        let mut links = self.links.iter_mut().zip(PROGRAMS);
        links.try_for_each(|(link, name)| link.pin(directory.join(name))).doing(doing)
    }

    /// Restores every connection; the switcher must have been detached before.
    pub fn restore(&self) -> Result<Restored, Error> {
        let [gently, in_recovery_too, ..] = &self.links;
        let deadline = Instant::now() + WAIT_FOR_RECOVERY;
        let mut restored = Restored::default();
        let mut remaining = self.remaining()?;
        while !remaining.is_empty() {
            let late = Instant::now() > deadline;
            let link = if late { in_recovery_too } else { gently };
            let pass = Namespaces::Every.sum(|| read_lines(link));
            restored.connections += pass.total;
            remaining = self.remaining()?;
            restored.failed = if remaining.is_empty() { Vec::new() } else { pass.failed };
            if late {
                break;
            }
            if !remaining.is_empty() {
                thread::sleep(BETWEEN_PASSES);
            }
        }
        restored.remaining = remaining.into_iter().map(|(it, n)| (describe(it), n)).collect();
        restored.closed = self.closed()?;
        Ok(restored)
    }

    /// How many connections are still remembered of each namespace, by its inode.
    fn remaining(&self) -> Result<BTreeMap<u32, usize>, Error> {
        let doing = || "counting connections".to_owned();
        let [_, _, remaining, _] = &self.links;
        let text = String::from_utf8(read(remaining).doing(doing)?).map_err(io::Error::other);
        let mut counted = BTreeMap::new();
        for namespace in text.doing(doing)?.lines() {
            *counted.entry(namespace.parse().doing(doing)?).or_default() += 1;
        }
        Ok(counted)
    }

    fn closed(&self) -> Result<usize, Error> {
        let [_, _, _, closed] = &self.links;
        read_lines(closed).doing(|| "counting closed sockets".into())
    }
}
