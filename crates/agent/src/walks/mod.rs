//! Walks over the sockets of a network namespace.
//!
//! The kernel takes the lock of each socket before an iterator sees it, and waits for whoever holds it: nothing ends that,
//! not even SIGKILL. A program holds the lock of a socket of its own for as long as it likes, by sending from memory whose
//! pages do not come. So iterators are read by processes beside the agent ([`worker`]), which are left where
//! they do not answer in time.

mod iterator_file;
mod worker;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::AddAssign;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::namespaces::{Namespaces, describe, note_taken, within};
pub(crate) use iterator_file::{Directory, IteratorFile};
use worker::Worker;
pub use worker::be_worker;

/// So long a namespace may take.
pub(crate) const LONGEST: Duration = Duration::from_secs(2);
/// So many are walked through at once, ...
const AT_ONCE: usize = 2;
/// ... but for those that have taken longer than this, ...
const USUAL: Duration = Duration::from_millis(50);
/// ... and so many with those.
const MOST: usize = 64;
/// So many workers are kept for the next walk.
const KEPT: usize = AT_ONCE;

/// What came of a walk.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    pub bytes: Vec<u8>,
    /// The processor time that it took.
    pub processor: Duration,
}

/// Has workers, and knows where they have not answered.
#[derive(Default)]
pub(crate) struct Walker {
    idle: Vec<Worker>,
    /// Those that have not answered, by the inode of the namespace. No other is sent there before they are gone.
    left: BTreeMap<u32, Worker>,
}

/// A walk that has begun.
pub(crate) struct Walk {
    namespace: u32,
    begun: Instant,
    state: State,
}

enum State {
    Asked(Worker),
    /// Read in this process.
    Read(io::Result<Printed>),
}

/// How a walk is.
pub(crate) enum Progress {
    Done(io::Result<Printed>),
    GoesOn(Walk),
}

impl Walker {
    /// Begins to run an iterator over the sockets of a namespace; refuses where an earlier walk has not ended yet.
    pub fn begin(
        &mut self,
        iterator: &IteratorFile,
        file: &File,
        namespace: u32,
    ) -> io::Result<Walk> {
        self.left.retain(|_, worker| !worker.is_gone());
        if self.left.contains_key(&namespace) {
            return Err(does_not_answer());
        }
        let mut file = within(file, || iterator.open())?;
        let begun = Instant::now();
        if !worker::can_be() {
            let mut printed = Printed::default();
            let read = file.read_to_end(&mut printed.bytes).map(|_| printed);
            return Ok(Walk { namespace, begun, state: State::Read(read) });
        }
        let mut worker = self.idle.pop().map_or_else(Worker::start, Ok)?;
        worker.ask(&file)?;
        Ok(Walk { namespace, begun, state: State::Asked(worker) })
    }

    /// Looks whether a walk has ended. One that has not by `until` is left, and its namespace does not answer.
    pub fn look(&mut self, walk: Walk, until: Instant) -> Progress {
        let Walk { namespace, begun, state } = walk;
        let mut worker = match state {
            State::Asked(worker) => worker,
            State::Read(printed) => return Progress::Done(printed),
        };
        match worker.answer() {
            Some(answer) => {
                if answer.is_ok() && self.idle.len() < KEPT {
                    self.idle.push(worker);
                } else {
                    worker.end();
                }
                if let Ok(printed) = &answer {
                    note_taken(printed.processor);
                }
                Progress::Done(answer)
            }
            None if Instant::now() < until => {
                Progress::GoesOn(Walk { namespace, begun, state: State::Asked(worker) })
            }
            None => {
                if !worker.is_gone() {
                    self.left.insert(namespace, worker);
                }
                Progress::Done(Err(does_not_answer()))
            }
        }
    }

    /// Runs an iterator over the sockets of all these namespaces, and returns the sum of what `parse` makes of what it
    /// printed. Where that fails in one, or takes longer than it may, the others are gone on with.
    pub fn sum<T: AddAssign + Default>(
        &mut self,
        iterator: &IteratorFile,
        namespaces: &Namespaces,
        until: Instant,
        parse: impl Fn(&[u8]) -> T,
    ) -> Sum<T> {
        let mut sum = Sum::default();
        let mut wanted = namespaces.all();
        let mut walks: Vec<Walk> = Vec::new();
        let mut are_more = true;
        loop {
            let is_new = |walk: &&Walk| walk.begun.elapsed() < USUAL;
            while are_more && walks.len() < MOST && walks.iter().filter(is_new).count() < AT_ONCE {
                match wanted.next() {
                    None => are_more = false,
                    Some(Err(error)) => sum.failed.push(error.to_string()),
                    Some(Ok(it)) if Instant::now() >= until => sum.fail(it.inode, &no_time()),
                    Some(Ok(it)) => match self.begin(iterator, &it.file, it.inode) {
                        Ok(walk) => walks.push(walk),
                        Err(error) => sum.fail(it.inode, &error),
                    },
                }
            }
            if walks.is_empty() && !are_more {
                return sum;
            }
            wait_for(&walks, if are_more { USUAL } else { LONGEST }, until);
            for walk in std::mem::take(&mut walks) {
                let (namespace, until) = (walk.namespace, until.min(walk.begun + LONGEST));
                match self.look(walk, until) {
                    Progress::GoesOn(walk) => walks.push(walk),
                    Progress::Done(Ok(printed)) => sum.total += parse(&printed.bytes),
                    Progress::Done(Err(error)) => sum.fail(namespace, &error),
                }
            }
        }
    }
}

impl Drop for Walker {
    fn drop(&mut self) {
        self.idle.drain(..).for_each(Worker::end);
        self.left.retain(|_, worker| !worker.is_gone());
    }
}

impl Walk {
    /// Readable where there is something to look at.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Asked(worker) => Some(worker.as_fd()),
            State::Read(_) => None,
        }
    }

    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// The inode of the namespace.
    pub fn namespace(&self) -> u32 {
        self.namespace
    }

    /// When it is time to look at it, whether or not it is readable.
    pub fn ends(&self) -> Instant {
        match self.state {
            State::Asked(_) => self.begun + LONGEST,
            State::Read(_) => self.begun,
        }
    }
}

/// Sleeps until one of the walks has something to tell, or one has taken so long since it was begun.
fn wait_for(walks: &[Walk], time: Duration, until: Instant) {
    let now = Instant::now();
    let fds: Option<Vec<BorrowedFd>> = walks.iter().map(Walk::as_fd).collect();
    // One that was read here is looked at now.
    let Some(fds) = fds else { return };
    let ends = walks.iter().map(|walk| walk.begun + time).filter(|end| *end > now);
    let end = ends.min().unwrap_or(now + USUAL).min(until);
    let mut fds: Vec<PollFd> = fds.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    let timeout = end.saturating_duration_since(now) + Duration::from_micros(999);
    // Where it is interrupted, the walks are looked at sooner.
    let _ = poll(&mut fds, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX));
}

/// What came of walks through several namespaces.
#[derive(Debug, Default)]
pub(crate) struct Sum<T> {
    pub total: T,
    /// The namespaces in which it failed, each with the reason.
    pub failed: Vec<String>,
}

impl<T> Sum<T> {
    fn fail(&mut self, namespace: u32, error: &io::Error) {
        self.failed.push(format!("{}: {error}", describe(namespace)));
    }
}

fn does_not_answer() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!(
            "it has not answered within {} s: a process may hold the lock of a socket",
            LONGEST.as_secs()
        ),
    )
}

fn no_time() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "there was no time left for it")
}
