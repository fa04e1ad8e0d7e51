//! Network namespaces. An iterator over TCP sockets sees those of its reader's namespace alone.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, iter, thread};

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::GetStruct;
use nix::sys::statfs::{NSFS_MAGIC, fstatfs, statfs};
use nix::time::{ClockId, clock_gettime};

use crate::error::{Doing, Error};
use crate::supervised::said;

/// The calling thread's.
pub(crate) const OWN: &str = "/proc/thread-self/ns/net";
/// Where namespaces have names.
const NAMES: &str = "/run/netns";

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

    /// Each of them, our own first, or why it is not there.
    pub(crate) fn all(&self) -> Box<dyn Iterator<Item = io::Result<Namespace>> + '_> {
        match self {
            Namespaces::Every => {
                let own = Namespace::named(Path::new(OWN));
                Box::new(iter::once(own).chain(others(|_| true).map(Ok)))
            }
            Namespaces::Named(files) => Box::new(files.iter().map(|file| Namespace::named(file))),
        }
    }
}

/// A network namespace that was found.
pub(crate) struct Namespace {
    pub file: File,
    pub inode: u32,
}

impl Namespace {
    /// Opens what a path led to when it was looked up. None if there is something else by now, or a file that is no
    /// namespace: whoever makes namespaces may leave its mount point.
    fn open(path: &Path, inode: u32) -> Option<Namespace> {
        // A pipe would wait for its other end.
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
        let is_namespace = fstatfs(&file).is_ok_and(|it| it.filesystem_type() == NSFS_MAGIC);
        let is_same = file.metadata().is_ok_and(|metadata| metadata.ino() as u32 == inode);
        (is_namespace && is_same).then_some(Namespace { file, inode })
    }

    fn named(path: &Path) -> io::Result<Namespace> {
        let found = inode(path).and_then(|inode| Namespace::open(path, inode));
        found.ok_or_else(|| io::Error::other(format!("{} is no network namespace", path.display())))
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
pub(crate) fn others_of(wanted: &HashSet<u32>) -> impl Iterator<Item = Namespace> {
    others(|inode| wanted.contains(&inode))
}

/// Those of `wanted`, by their inodes, to which a name or a thread leads.
pub(crate) fn reachable(wanted: &HashSet<u32>) -> HashSet<u32> {
    let own = inode(Path::new(OWN)).filter(|inode| wanted.contains(inode));
    others_of(wanted).map(|namespace| namespace.inode).chain(own).collect()
}

/// All to which a name or a thread leads, except our own.
pub(crate) fn every_other() -> impl Iterator<Item = Namespace> {
    others(|_| true)
}

thread_local! {
    /// What threads and processes have taken that did something for this thread.
    static INSIDE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The processor time that this thread has taken so far, with what it has done in other namespaces. What others take
/// beside it is not its cost.
pub(crate) fn processor_time() -> Duration {
    of_this_thread() + INSIDE.get()
}

/// Notes what another process has taken for this thread.
pub(crate) fn note_taken(time: Duration) {
    INSIDE.set(INSIDE.get() + time);
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
    note_taken(taken);
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

/// The namespaces to which a name or a thread leads and whose inode is wanted, except our own. Each is opened when its
/// turn comes, and no others are: there may be more of them than a process may have files.
fn others(is_wanted: impl Fn(u32) -> bool) -> impl Iterator<Item = Namespace> {
    let threads = processes()
        .flat_map(|process| entries(&process.join("task")))
        .map(|thread| thread.join("ns/net"));
    let mut met: HashSet<_> = HashSet::from_iter(inode(Path::new(OWN)));
    entries(Path::new(NAMES)).into_iter().chain(threads).filter_map(move |path| {
        let inode = inode(&path).filter(|it| is_wanted(*it) && !met.contains(it))?;
        // A namespace that has gone since then has no connections.
        let namespace = Namespace::open(&path, inode)?;
        met.insert(inode);
        Some(namespace)
    })
}

/// How many processes of a namespace are named to the operator.
const NAMED: usize = 3;

/// Says of which network namespace this is the inode, by a name or by processes that are in it.
pub(crate) fn describe(wanted: u32) -> String {
    let is_it = |path: &Path| inode(path) == Some(wanted);
    if let Some(name) = entries(Path::new(NAMES)).into_iter().find(|path| is_it(path)) {
        return format!("network namespace {}", name.display());
    }
    // Each thread may be in one of its own.
    let is_in_it = |process: &PathBuf| {
        entries(&process.join("task")).iter().any(|thread| is_it(&thread.join("ns/net")))
    };
    let mut processes = processes().filter(is_in_it);
    let named: Vec<String> =
        processes.by_ref().take(NAMED).map(|process| named(&process)).collect();
    let more = if processes.next().is_some() { " and others" } else { "" };
    match named.as_slice() {
        [] => format!("network namespace {wanted}, to which no process or name leads"),
        named => format!("network namespace {wanted} of process {}{more}", named.join(", ")),
    }
}

/// The number and the name of a process by its directory.
fn named(process: &Path) -> String {
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    format!("{} ({:?})", process.file_name().unwrap_or_default().display(), name.trim_end())
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let is_number = |path: &PathBuf| {
        path.file_name().is_some_and(|it| it.as_encoded_bytes()[0].is_ascii_digit())
    };
    entries(Path::new("/proc")).into_iter().filter(is_number)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().filter_map(|it| Some(it.ok()?.path())).collect()
}

/// The inode of a namespace, as the kernel names it.
fn inode(path: &Path) -> Option<u32> {
    fs::metadata(path).map(|metadata| metadata.ino() as u32).ok()
}
