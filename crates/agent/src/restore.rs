//! Puts connections back on the algorithm they had.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{io, thread};

use libbpf_rs::{Iter, IterOpts, Link, MapHandle, MapIterOpts, Object, ObjectBuilder};
use nix::sched::{CloneFlags, setns};

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/restore.bpf.o"));

/// How long connections in Recovery or Loss are waited for: most leave it within a round trip.
const WAIT_FOR_RECOVERY: Duration = Duration::from_secs(2);
const BETWEEN_PASSES: Duration = Duration::from_millis(50);

/// What became of the connections that had been met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Put back on the algorithm they had.
    pub connections: usize,
    /// Not put back, because no process and no name leads to their network namespace, or the
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

/// Loads what restores connections, and nothing else.
pub(crate) fn load(connections: &MapHandle) -> Result<(), Error> {
    Restorer::load(connections, false).map(drop)
}

struct Restorer {
    object: Object,
}

impl Restorer {
    fn load(connections: &MapHandle, in_recovery_too: bool) -> Result<Restorer, Error> {
        let doing = || "loading the restorer".to_owned();
        let mut object = ObjectBuilder::default().open_memory(OBJECT).doing(doing)?;
        for mut map in object.maps_mut() {
            if map.name() == CONNECTIONS {
                map.reuse_fd(connections.as_fd()).doing(doing)?;
            } else if map.name().to_string_lossy().ends_with(".rodata") {
                // Its first constant is `in_recovery_too`; formats of what is printed follow.
                map.initial_value_mut().expect(".rodata has a value")[0] =
                    u8::from(in_recovery_too);
            }
        }
        Ok(Restorer { object: object.load().doing(doing)? })
    }

    /// Restores what can be restored in every network namespace; returns how many were.
    fn pass(&self) -> Result<usize, Error> {
        let doing = || "restoring connections".to_owned();
        let link = self.attach("restore", IterOpts::None)?;
        let mut restored = read_lines(&link).doing(doing)?;
        for namespace in other_network_namespaces() {
            restored += thread::scope(|scope| {
                scope
                    .spawn(|| {
                        setns(&namespace, CloneFlags::CLONE_NEWNET).map_err(io::Error::from)?;
                        read_lines(&link)
                    })
                    .join()
                    .expect("no panic while restoring")
            })
            .doing(doing)?;
        }
        Ok(restored)
    }

    /// How many of those still remembered, in whatever network namespace, a program picks.
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

fn read_lines(link: &Link) -> io::Result<usize> {
    let mut text = String::new();
    Iter::new(link).map_err(io::Error::other)?.read_to_string(&mut text)?;
    Ok(text.lines().count())
}

/// Every network namespace that a name or a thread leads to, but our own.
fn other_network_namespaces() -> Vec<File> {
    let entries = |directory: &str| {
        fs::read_dir(directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect::<Vec<PathBuf>>()
    };
    let threads = entries("/proc")
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|n| n.as_encoded_bytes()[0].is_ascii_digit()))
        .flat_map(|process| entries(&process.join("task").to_string_lossy()))
        .map(|thread| thread.join("ns/net"));
    let identity = |path: &PathBuf| fs::metadata(path).map(|m| (m.dev(), m.ino()));

    let mut met: HashSet<_> =
        HashSet::from_iter(identity(&PathBuf::from("/proc/thread-self/ns/net")));
    entries("/run/netns")
        .into_iter()
        .chain(threads)
        .filter(|path| identity(path).is_ok_and(|id| met.insert(id)))
        // A namespace that went away since is none that has connections.
        .filter_map(|path| File::open(path).ok())
        .collect()
}
