//! Restores connections to the algorithm that they had.

use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{IterOpts, Link, MapHandle, MapIterOpts, Object};

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::iterator::read_lines;
use crate::namespaces::Namespaces;
use crate::object;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/restore.bpf.o"));

/// How long connections in Recovery or Loss are waited for: most leave it within a round trip.
const WAIT_FOR_RECOVERY: Duration = Duration::from_secs(2);
const BETWEEN_PASSES: Duration = Duration::from_millis(50);

/// How many of the connections that had been met were restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Restored to the algorithm they had.
    pub connections: usize,
    /// Not restored, because no process and no name leads to their network namespace, or the
    /// kernel no longer has the algorithm they had; they keep the one they have until they end.
    pub remaining: usize,
    /// Closed sockets that their programs still hold, and that keep the algorithm they had last,
    /// and its programs in the kernel, until these close them.
    pub closed: usize,
}

/// Restores every connection of `connections`; the switcher must have been detached before.
pub(crate) fn restore(connections: &MapHandle) -> Result<Restored, Error> {
    let gently = Restorer::load(connections, false)?;
    let deadline = Instant::now() + WAIT_FOR_RECOVERY;
    let mut restored =
        Restored { remaining: gently.count("remaining", connections)?, ..Restored::default() };
    while restored.remaining > 0 {
        let late = Instant::now() > deadline;
        restored.connections +=
            if late { Restorer::load(connections, true)?.pass()? } else { gently.pass()? };
        restored.remaining = gently.count("remaining", connections)?;
        if late {
            break;
        }
        if restored.remaining > 0 {
            thread::sleep(BETWEEN_PASSES);
        }
    }
    restored.closed = gently.count("closed", connections)?;
    Ok(restored)
}

/// Loads the programs that restore connections, and nothing else.
pub(crate) fn load(connections: &MapHandle) -> Result<(), Error> {
    Restorer::load(connections, false).map(drop)
}

struct Restorer {
    object: Object,
}

impl Restorer {
    fn load(connections: &MapHandle, in_recovery_too: bool) -> Result<Restorer, Error> {
        let object = object::load(OBJECT, "loading the restorer", |object| {
            object.set("in_recovery_too", in_recovery_too)?;
            object.keep_only(&[CONNECTIONS])?;
            object.share(CONNECTIONS, connections)
        })?;
        Ok(Restorer { object })
    }

    /// Restores what can be restored in every network namespace; returns how many were.
    fn pass(&self) -> Result<usize, Error> {
        let doing = || "restoring connections".to_owned();
        let link = self.attach("restore", IterOpts::None)?;
        Namespaces::Every.sum(|| read_lines(&link)).doing(doing)
    }

    /// Counts those that are still remembered, in whatever network namespace, and that a program picks.
    fn count(&self, program: &str, connections: &MapHandle) -> Result<usize, Error> {
        let of_map = IterOpts::Map(MapIterOpts::from_fd(connections.as_fd()));
        let link = self.attach(program, of_map)?;
        read_lines(&link).doing(|| "counting connections".to_owned())
    }

    fn attach(&self, program: &str, options: IterOpts) -> Result<Link, Error> {
        self.object
            .progs_mut()
            .find(|p| p.name() == program)
            .unwrap_or_else(|| panic!("restore.bpf.c has the program {program}"))
            .attach_iter_with_opts(options)
            .doing(|| format!("attaching the iterator {program}"))
    }
}
