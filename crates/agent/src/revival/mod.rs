//! Connections whose path was gone send as soon as it may be back, and do not wait for a timer that has backed off
//! meanwhile (docs/outages.md).
//!
//! The kernel tells no BPF program of a carrier, an address or a route, and lets none touch a timer. So a thread of the
//! agent hears of changes in each network namespace that has connections of ours, and has the kernel itself undo the
//! back-off of those that wait there, by the message that routers send for it ([`unreachable`]).
//!
//! Those whose timer has not backed off, which no such message makes send, get room for new data ([`nudge`]).
//!
//! The same thread looks for connections whose address has been removed, and that can never send again ([`stranded`]).

mod allowance;
mod nudge;
mod reviver;
mod socket_iterator;
mod stalled;
mod stranded;
mod tried;
mod unreachable;
mod waiting;
mod watch;
mod watches;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use nix::sys::eventfd::EventFd;

use crate::affected_paths::AffectedPaths;
use crate::error::{Doing, Error};
use crate::supervised::{Found, Supervised};
use crate::switcher::Switcher;
use reviver::Reviver;
pub use stranded::Stranded;

const DOING: &str = "watching the network";

/// What has happened since the agent asked last.
#[derive(Debug, Default)]
pub struct NetworkNews {
    /// What is known of these paths is of another network.
    pub affected: AffectedPaths,
    /// How often connections were made to send because their path may have been back.
    pub revived: u64,
    /// Addresses that are gone and that connections have.
    pub stranded: Vec<Stranded>,
    /// How many messages were dropped that programs sent as if they were the kernel.
    pub dropped: u64,
    /// What does not work, for the operator.
    pub trouble: Vec<String>,
}

/// How the thread is that watches the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkThread {
    /// Whether it runs.
    pub is_alive: bool,
    /// How often it has ended since the agent was started.
    pub ended: u64,
}

/// The thread, which ends when this is dropped.
pub(crate) struct Revival {
    stop: Arc<EventFd>,
    news: Arc<Mutex<NetworkNews>>,
    thread: Supervised,
}

impl Revival {
    /// Hears of changes from now on.
    pub fn start(switcher: &Switcher) -> Result<Revival, Error> {
        let stop = Arc::new(EventFd::new().doing(|| DOING.into())?);
        let news = Arc::<Mutex<NetworkNews>>::default();
        let thread = start_thread(switcher, &stop, &news)?;
        let thread = Supervised::begin("watches the network", thread, Instant::now());
        Ok(Revival { stop, news, thread })
    }

    /// What has happened since the last call. If the thread has ended, it is started again.
    pub fn take_news(&mut self, switcher: &Switcher) -> NetworkNews {
        let start = || start_thread(switcher, &self.stop, &self.news);
        let found = self.thread.look_after(Instant::now(), start);
        let mut news = std::mem::take(&mut *locked(&self.news));
        match found {
            Found::Nothing => {}
            Found::Ended(told) => news.trouble.push(told),
            Found::Restarted(told) => {
                // Nobody has heard of what changed meanwhile.
                news.affected = AffectedPaths::every();
                news.trouble.push(told);
            }
        }
        news
    }

    pub fn thread(&self) -> NetworkThread {
        NetworkThread { is_alive: self.thread.is_alive(), ended: self.thread.ended() }
    }
}

impl Drop for Revival {
    fn drop(&mut self) {
        if self.stop.write(1).is_ok() {
            self.thread.join();
        }
    }
}

fn start_thread(
    switcher: &Switcher,
    stop: &Arc<EventFd>,
    news: &Arc<Mutex<NetworkNews>>,
) -> Result<JoinHandle<()>, Error> {
    let reviver = Reviver::load(switcher, Arc::clone(news))?;
    let stop = Arc::clone(stop);
    let thread = thread::Builder::new().name("network".into());
    thread.spawn(move || reviver.run(&stop)).doing(|| DOING.into())
}

fn locked(news: &Mutex<NetworkNews>) -> MutexGuard<'_, NetworkNews> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}
