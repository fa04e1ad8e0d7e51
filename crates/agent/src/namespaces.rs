//! Network namespaces. An iterator over TCP sockets sees those of its reader's namespace alone.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::ops::AddAssign;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, thread};

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::GetStruct;
use nix::sys::statfs::{NSFS_MAGIC, statfs};
use nix::time::{ClockId, clock_gettime};

use crate::error::{Doing, Error};
use crate::supervised::said;

/// The calling thread's.
pub(crate) const OWN: &str = "/proc/thread-self/ns/net";

/// Some network namespaces of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// Our own, and every other to which a name or a thread leads.
    #[default]
    Every,
    /// Those of these files, such as /run/netns/web.
    Named(Vec<PathBuf>),
}

impl Namespaces {
    /// Refuses if the file of one does not exist.
    pub(crate) fn find(&self) -> Result<(), Error> {
        let Namespaces::Named(files) = self else { return Ok(()) };
        files.iter().try_for_each(|file| {
            let doing = || format!("looking for the network namespace {}", file.display());
            File::open(file).map(drop).doing(doing)
        })
    }

    /// Does something in each of them, and returns the sum of the results.
    pub(crate) fn sum<T: AddAssign + Default + Send>(
        &self,
        f: impl Fn() -> io::Result<T> + Sync,
    ) -> io::Result<T> {
        let (mut sum, others) = match self {
            Namespaces::Every => (f()?, others(|_| true)),
            Namespaces::Named(files) => {
                (T::default(), files.iter().map(File::open).collect::<io::Result<Vec<_>>>()?)
            }
        };
        for namespace in others {
            sum += within(&namespace, &f)?;
        }
        Ok(sum)
    }
}

/// Whether this file is a network namespace, as far as this user may know.
pub fn is_namespace(file: &Path) -> bool {
    match statfs(file) {
        Ok(found) => found.filesystem_type() == NSFS_MAGIC,
        Err(error) => error == Errno::EACCES,
    }
}

nix::getsockopt_impl!(
    NamespaceCookie,
    libc::SOL_SOCKET,
    libc::SO_NETNS_COOKIE,
    u64,
    GetStruct<u64>
);

/// Asks a socket for the cookie of its network namespace.
#[derive(Clone, Copy)]
struct NamespaceCookie;

/// The calling thread's network namespace, by the low bits of its cookie, as the kernel's side names it
/// (`namespace_of` in `bpf/switcher/bind/match_key.h`).
///
/// # Errors
/// Fails if the process may open no more files.
pub fn own_namespace() -> io::Result<u32> {
    Ok(getsockopt(&UnixDatagram::unbound()?, NamespaceCookie)? as u32)
}

/// Those of `wanted`, by their inodes, to which a name or a thread leads, and which are not our own.
pub(crate) fn others_of(wanted: &HashSet<u32>) -> Vec<File> {
    others(|inode| wanted.contains(&inode))
}

/// All to which a name or a thread leads, except our own.
pub(crate) fn every_other() -> Vec<File> {
    others(|_| true)
}

thread_local! {
    /// What threads have taken that did something in another namespace for this one.
    static INSIDE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The processor time that this thread has taken so far, with what it has done in other namespaces. What others take
/// beside it is not its cost.
pub(crate) fn processor_time() -> Duration {
    of_this_thread() + INSIDE.get()
}

fn of_this_thread() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has it").into()
}

/// Does something in a network namespace.
pub(crate) fn within<T: Send>(
    namespace: &File,
    f: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let (done, taken) = apart(|| {
        let done = setns(namespace, CloneFlags::CLONE_NEWNET).map_err(io::Error::from);
        Ok((done.and_then(|()| f()), of_this_thread()))
    })?;
    INSIDE.set(INSIDE.get() + taken);
    done
}

/// Does something in a thread of its own: one that has entered another namespace does not return to ours; it ends. Where
/// no thread can be made, or it panics, that is an error.
pub(crate) fn apart<T: Send>(f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, f)?;
        thread.join().unwrap_or_else(|panic| Err(io::Error::other(said(&*panic))))
    })
}

/// The namespaces to which a name or a thread leads and whose inode is wanted, except our own. No others are opened:
/// there may be more of them than a process may have files.
fn others(is_wanted: impl Fn(u32) -> bool) -> Vec<File> {
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
    let inode = |path: &PathBuf| fs::metadata(path).map(|metadata| metadata.ino() as u32);

    let mut met: HashSet<_> = HashSet::from_iter(inode(&PathBuf::from(OWN)));
    entries("/run/netns")
        .into_iter()
        .chain(threads)
        .filter_map(|path| Some((inode(&path).ok()?, path)))
        .filter(|(inode, _)| met.insert(*inode) && is_wanted(*inode))
        // A namespace that has gone since then has no connections.
        .filter_map(|(_, path)| File::open(path).ok())
        .collect()
}
