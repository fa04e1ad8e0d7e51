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
mod socket_iterator;
mod stalled;
mod stranded;
mod unreachable;
mod waiting;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;

use crate::error::{Doing, Error};
use crate::network_changes::TOLD_APART;
use crate::paths::PathFilter;
use crate::switcher::Switcher;
use allowance::Allowance;
use nudge::Nudge;
use stalled::{Listing, Stalled};
use stranded::Removed;
pub use stranded::Stranded;
use waiting::Waiting;
use watch::Watches;

/// How often the agent looks in which namespaces there are connections.
const LOOK: Duration = Duration::from_secs(1);
/// For so long after a change connections are made to send: a neighbour has to be found first, and a link may take a
/// moment from its carrier to its first packet.
const TRIED_FOR: Duration = Duration::from_secs(2);
/// The time between two looks meanwhile, where the [`Allowance`] lets them be.
const TICK: Duration = Duration::from_millis(20);
/// For so long after a timeout, and after its carrier has turned, the agent asks for an interface's carrier: the kernel
/// tells of one that goes up to a second late, and of one that is back by then as late.
const ASKED_FOR: Duration = Duration::from_secs(2);
/// What goes on failing is told again after this time.
const TELL_AGAIN: Duration = Duration::from_secs(3600);

/// What has happened since the agent asked last.
#[derive(Debug, Default)]
pub struct NetworkNews {
    /// What is known of these paths is of another network.
    pub affected: Vec<PathFilter>,
    /// How often connections were made to send because their path may have been back.
    pub revived: u64,
    /// Addresses that are gone and that connections have.
    pub stranded: Vec<Stranded>,
    /// What does not work, for the operator.
    pub trouble: Vec<String>,
}

/// The thread, which ends when this is dropped.
pub(crate) struct Revival {
    stop: Arc<EventFd>,
    news: Arc<Mutex<NetworkNews>>,
    thread: Option<JoinHandle<()>>,
}

impl Revival {
    /// Hears of changes from now on.
    pub fn start(switcher: &Switcher) -> Result<Revival, Error> {
        const DOING: &str = "watching the network";
        let listing = Listing::load(switcher)?;
        let (removed, nudge) = (Removed::load(switcher)?, Nudge::load(switcher)?);
        let watches = Watches::begin().doing(|| DOING.into())?;
        let stop = Arc::new(EventFd::new().doing(|| DOING.into())?);
        let news = Arc::<Mutex<NetworkNews>>::default();
        let (tried, told) = (Vec::new(), Arc::clone(&news));
        let waiting = Waiting::listen(switcher)?;
        let reviver = Reviver {
            listing,
            nudge,
            waiting,
            asked: BTreeMap::new(),
            watches,
            tried,
            has_come_back: false,
            carriers_back: BTreeSet::new(),
            removed,
            news: told,
            trouble: BTreeMap::new(),
        };
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("network".into())
            .spawn(move || reviver.run(&stopped))
            .doing(|| DOING.into())?;
        Ok(Revival { stop, news, thread: Some(thread) })
    }

    /// What has happened since the last call.
    pub fn news(&self) -> NetworkNews {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Revival {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take()
            && self.stop.write(1).is_ok()
        {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// Paths that may be back, and until when their connections are made to send.
struct Tried {
    paths: PathFilter,
    until: Instant,
}

impl Tried {
    fn has(&self, stalled: &Stalled) -> bool {
        let PathFilter { namespace, interface, .. } = self.paths;
        namespace.is_none_or(|it| it == stalled.namespace)
            // A connection that has lost its route has none, and one that a new route concerns has still the old one.
            && (interface.is_none_or(|it| it == stalled.interface || stalled.interface == 0)
                || self.paths.remote.is_some())
            && self.paths.has_remote(IpNet::from(stalled.remote.ip()))
    }
}

struct Reviver {
    listing: Listing,
    nudge: Nudge,
    waiting: Waiting,
    /// Interfaces that are asked for, by namespace and index, and until when.
    asked: BTreeMap<(u32, u32), Instant>,
    watches: Watches,
    tried: Vec<Tried>,
    /// Whether some of these have come since the last look.
    has_come_back: bool,
    /// Interfaces whose carrier is back and whose silent connections have still to send, by namespace and index.
    carriers_back: BTreeSet<(u32, u32)>,
    removed: Removed,
    news: Arc<Mutex<NetworkNews>>,
    /// What has failed, and when it was told last.
    trouble: BTreeMap<Step, (String, Instant)>,
}

/// What may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    FollowNamespaces,
    Wait,
    Nudge,
    Revive,
    LookForStranded,
}

impl Step {
    /// What does not work where it has failed.
    fn lost(self) -> &'static str {
        match self {
            Step::FollowNamespaces | Step::Wait | Step::Nudge | Step::Revive => {
                "connections are not made to send when their path is back"
            }
            Step::LookForStranded => "connections whose address is gone are not told of",
        }
    }
}

impl Reviver {
    fn run(mut self, stop: &EventFd) {
        let (mut looked_at, mut listed_at) = (None::<Instant>, None::<Instant>);
        let (mut tick, mut allowance) = (TICK, Allowance::full());
        loop {
            if looked_at.is_none_or(|at| at.elapsed() >= LOOK) {
                looked_at = Some(Instant::now());
                let wanted = self.listing.namespaces();
                let followed = wanted.and_then(|wanted| self.watches.follow(&wanted));
                self.note(Step::FollowNamespaces, followed);
            }
            let is_idle =
                self.tried.is_empty() && self.asked.is_empty() && self.carriers_back.is_empty();
            let time = if is_idle { LOOK } else { tick.min(LOOK) };
            let waited = self.wait(stop, time);
            if let Ok(true) = waited {
                return;
            }
            self.note(Step::Wait, waited.map(drop));
            let now = Instant::now();
            self.tried.retain(|tried| tried.until > now);
            self.asked.retain(|_, until| *until > now);
            let is_allowed = allowance.refused_for(now).is_zero();
            if is_allowed {
                let nudged = allowance.spend(|| self.nudge());
                self.note(Step::Nudge, nudged);
            }
            // What has just come back is worth a look of its own.
            let has_come_back = std::mem::take(&mut self.has_come_back) && is_allowed;
            if has_come_back || listed_at.is_none_or(|at| now - at >= tick) {
                listed_at = Some(now);
                let revived = allowance.spend(|| self.ask().and(self.revive()));
                self.note(Step::Revive, revived);
                tick = TICK.max(allowance.refused_for(Instant::now()));
            }
            let looked = self.look_for_stranded();
            self.note(Step::LookForStranded, looked);
        }
    }

    /// Sleeps until something changes, or for that time. Returns whether it is time to stop.
    fn wait(&mut self, stop: &EventFd, time: Duration) -> io::Result<bool> {
        let watched = self.watches.iter().map(|watch| watch.changes.as_fd());
        let fds = watched.chain([stop.as_fd(), self.waiting.as_fd()]);
        let mut fds: Vec<PollFd> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let timeout = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
        match poll(&mut fds, timeout) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
        let mut readable =
            fds.iter().map(|fd| fd.any().unwrap_or(true)).collect::<Vec<_>>().into_iter();
        let mut read = Ok(());
        let until = Instant::now() + ASKED_FOR;
        for (watch, _) in self.watches.iter_mut().zip(&mut readable).filter(|(_, changed)| *changed)
        {
            match watch.changes.read() {
                Ok(changes) => {
                    let turned = changes.affected.iter().filter_map(interface_of);
                    self.asked.extend(turned.map(|interface| (interface, until)));
                    let namespace = watch.changes.namespace();
                    self.carriers_back
                        .extend(changes.carriers.into_iter().map(|it| (namespace, it)));
                    note_affected(&self.news, changes.affected);
                    self.has_come_back |= !changes.may_be_back.is_empty();
                    try_again(&mut self.tried, changes.may_be_back);
                    self.removed.note(namespace, changes.removed);
                }
                Err(error) => read = Err(error),
            }
        }
        let stopped = readable.next().expect("there is one to stop");
        self.asked.extend(self.waiting.read()?.map(|interface| (interface, until)));
        read?;
        Ok(stopped)
    }

    /// Makes connections send new data that go over an interface whose carrier is back. Where that fails over one,
    /// others are tried.
    fn nudge(&mut self) -> io::Result<()> {
        let mut nudged = Ok(());
        for (namespace, interface) in std::mem::take(&mut self.carriers_back) {
            let Some(watch) = self.watches.get(namespace) else { continue };
            match self.nudge.nudge(&watch.file, interface) {
                Ok(connections) => locked(&self.news).revived += connections,
                Err(error) => nudged = Err(error),
            }
        }
        nudged
    }

    /// Asks for the carriers of interfaces. The answers are among the changes that are read.
    fn ask(&self) -> io::Result<()> {
        let mut asked = Ok(());
        for (namespace, interface) in self.asked.keys() {
            if let Some(watch) = self.watches.get(*namespace)
                && let Err(error) = watch.changes.ask(*interface)
                && !is_passing(&error)
            {
                asked = Err(error);
            }
        }
        asked
    }

    /// Makes connections send whose path may be back.
    fn revive(&self) -> io::Result<()> {
        if self.tried.is_empty() {
            return Ok(());
        }
        let stalled = self.listing.stalled()?;
        let mut revived = Ok(());
        for it in stalled.iter().filter(|it| self.tried.iter().any(|tried| tried.has(it))) {
            let Some((watch, steps)) = self.watches.get(it.namespace).zip(it.steps()) else {
                continue;
            };
            // A message to an address that is not the host's would leave it.
            if !watch.changes.has_address(it.local.ip()) {
                continue;
            }
            let Some(messenger) = &watch.messenger else {
                revived = Err(io::ErrorKind::PermissionDenied.into());
                continue;
            };
            match messenger.send(it, steps) {
                Ok(()) => locked(&self.news).revived += 1,
                // Its own address may be gone since, or there is no room for the moment.
                Err(error) if is_passing(&error) => {}
                Err(error) => revived = Err(error),
            }
        }
        revived
    }

    /// Looks for connections whose address has been gone for long enough.
    fn look_for_stranded(&mut self) -> io::Result<()> {
        let mut looked = Ok(());
        for (namespace, addresses) in self.removed.due() {
            // Where there is no watch any more, there are no connections.
            let Some(watch) = self.watches.get(namespace) else { continue };
            match self.removed.stranded(&watch.file, &addresses) {
                Ok(stranded) => locked(&self.news).stranded.extend(stranded),
                Err(error) => {
                    self.removed.note(namespace, addresses.into_iter().collect());
                    looked = Err(error);
                }
            }
        }
        looked
    }

    /// Tells of what does not work, and of the same again after an hour: most steps have nothing to do most of the time,
    /// so that one that works tells nothing of the next.
    fn note(&mut self, step: Step, done: io::Result<()>) {
        let Err(error) = done else { return };
        let trouble = format!("{}: {error}", step.lost());
        let told = self.trouble.get(&step);
        if told.is_none_or(|(told, at)| *told != trouble || at.elapsed() >= TELL_AGAIN) {
            locked(&self.news).trouble.push(trouble.clone());
            self.trouble.insert(step, (trouble, Instant::now()));
        }
    }
}

/// The namespace and the interface that these paths go over, if it is all of them.
fn interface_of(paths: &PathFilter) -> Option<(u32, u32)> {
    paths.namespace.zip(paths.interface).filter(|_| paths.remote.is_none())
}

fn locked(news: &Mutex<NetworkNews>) -> std::sync::MutexGuard<'_, NetworkNews> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note_affected(news: &Mutex<NetworkNews>, affected: Vec<PathFilter>) {
    let known = &mut locked(news).affected;
    known.extend(affected);
    if known.len() > TOLD_APART {
        *known = vec![PathFilter::default()];
    }
}

fn try_again(tried: &mut Vec<Tried>, paths: Vec<PathFilter>) {
    let until = Instant::now() + TRIED_FOR;
    for paths in paths {
        match tried.iter_mut().find(|tried| tried.paths == paths) {
            Some(tried) => tried.until = until,
            None => tried.push(Tried { paths, until }),
        }
    }
    if tried.len() > TOLD_APART {
        *tried = vec![Tried { paths: PathFilter::default(), until }];
    }
}

fn is_passing(error: &io::Error) -> bool {
    let known = [
        Errno::EADDRNOTAVAIL,
        Errno::ENETUNREACH,
        Errno::EHOSTUNREACH,
        Errno::EINVAL,
        Errno::ENOBUFS,
        Errno::EAGAIN,
        Errno::EPERM,
    ];
    known.iter().any(|errno| error.raw_os_error() == Some(*errno as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(interface: u32) -> Stalled {
        Stalled {
            local: "192.0.2.1:80".parse().unwrap(),
            remote: "198.51.100.7:40000".parse().unwrap(),
            namespace: 1,
            interface,
            snd_una: 0,
            rto_us: 100_000,
            most_us: u32::MAX,
            back_off: 1,
            waited_us: 0,
        }
    }

    #[test]
    fn a_change_concerns_what_goes_over_it_or_to_it() {
        let tried = |remote: Option<&str>, interface| Tried {
            paths: PathFilter {
                remote: remote.map(|it| it.parse().unwrap()),
                namespace: Some(1),
                interface: Some(interface),
            },
            until: Instant::now(),
        };
        assert!(tried(None, 2).has(&over(2)) && !tried(None, 3).has(&over(2)));
        assert!(tried(None, 3).has(&over(0)), "it has lost its route");
        assert!(tried(Some("198.51.100.0/24"), 3).has(&over(2)), "it has another route now");
        assert!(!tried(Some("203.0.113.0/24"), 2).has(&over(2)));
        assert!(!tried(None, 2).has(&Stalled { namespace: 9, ..over(2) }));
    }
}
