//! What the thread does: it hears of changes, and does what follows from them, each namespace within its own allowance.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;

use super::allowance::timed;
use super::nudge::{Nudge, Nudging};
use super::stalled::{Listing, Stalled};
use super::stranded::{Search, Searching};
use super::waiting::Waiting;
use super::watch::Watch;
use super::watches::Watches;
use super::{DOING, NetworkNews, locked};
use crate::error::{Doing, Error};
use crate::namespaces::describe;
use crate::network_changes::ROOM;
use crate::switcher::Switcher;
use crate::troubles::Troubles;
use crate::walks::{LONGEST, Progress, Walk, Walker};

/// How often the agent looks in which namespaces there are connections.
const LOOK: Duration = Duration::from_secs(1);
/// So many interfaces of a namespace have their connections made to send in a look.
const NUDGED_AT_ONCE: usize = 16;
/// So many namespaces are walked through at once.
const WALKS: usize = 16;

pub(super) struct Reviver {
    listing: Listing,
    nudge: Nudge,
    waiting: Waiting,
    watches: Watches,
    search: Search,
    walker: Walker,
    /// Walks that go on; one in each namespace at most.
    walks: Vec<(Walk, Goal)>,
    news: Arc<Mutex<NetworkNews>>,
    troubles: Troubles<Step>,
}

/// What a walk through the sockets of a namespace is for. The namespace is by the low bits of its cookie.
enum Goal {
    Nudge(u32, Nudging),
    Search(u32, Searching),
}

impl Goal {
    fn namespace(&self) -> u32 {
        let (Goal::Nudge(namespace, _) | Goal::Search(namespace, _)) = self;
        *namespace
    }
}

/// What may fail, or be amiss in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    FollowNamespaces,
    Wait,
    Nudge,
    Revive,
    LookForStranded,
    HearKernelAlone,
    KnowAll,
}

/// What does not work where it has failed.
impl Display for Step {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Step::FollowNamespaces | Step::Wait | Step::Nudge | Step::Revive => {
                "connections are not made to send when their path is back"
            }
            Step::LookForStranded => "connections whose address is gone are not told of",
            Step::HearKernelAlone => {
                "messages of programs to the agent's netlink socket are dropped"
            }
            Step::KnowAll => "not all interfaces and addresses are known",
        })
    }
}

impl Reviver {
    /// Loads what it needs.
    pub fn load(switcher: &Switcher, news: Arc<Mutex<NetworkNews>>) -> Result<Reviver, Error> {
        Ok(Reviver {
            listing: Listing::load(switcher)?,
            nudge: Nudge::load(switcher)?,
            waiting: Waiting::listen(switcher)?,
            watches: Watches::begin().doing(|| DOING.into())?,
            search: Search::load(switcher)?,
            walker: Walker::default(),
            walks: Vec::new(),
            news,
            troubles: Troubles::default(),
        })
    }

    /// Until it is stopped.
    pub fn run(mut self, stop: &EventFd) {
        let mut looked_at = None::<Instant>;
        loop {
            if looked_at.is_none_or(|at| at.elapsed() >= LOOK) {
                looked_at = Some(Instant::now());
                let wanted = self.listing.namespaces();
                let followed = wanted.and_then(|wanted| self.watches.follow(&wanted));
                self.note(Step::FollowNamespaces, followed);
            }
            let waited = self.wait(stop);
            if let Ok(true) = waited {
                return;
            }
            self.note(Step::Wait, waited.map(drop));
            let now = Instant::now();
            self.watches.iter_mut().for_each(|watch| watch.expire(now));
            self.end_walks(now);
            let nudged = self.nudge(now);
            self.note(Step::Nudge, nudged);
            let revived = self.revive(now);
            self.note(Step::Revive, revived);
            let looked = self.look_for_stranded(now);
            self.note(Step::LookForStranded, looked);
        }
    }

    /// Sleeps until something changes or is to be done, and notes what has changed. Returns whether it is time to stop.
    fn wait(&mut self, stop: &EventFd) -> io::Result<bool> {
        let now = Instant::now();
        let idle = self.watches.iter_mut().map(|watch| watch.idle_for(now, LOOK));
        let ends = self.walks.iter().map(|(walk, _)| walk.ends().saturating_duration_since(now));
        let time = idle.chain(ends).min().unwrap_or(LOOK);
        // What a namespace tells that has taken more than its share is left to the kernel.
        let mut heard: Vec<&mut Watch> = self
            .watches
            .iter_mut()
            .filter_map(|watch| watch.is_allowed(now).then_some(watch))
            .collect();
        let fds = [stop.as_fd(), self.waiting.as_fd()].into_iter();
        let fds = fds.chain(heard.iter().map(|watch| watch.changes.as_fd()));
        let fds = fds.chain(self.walks.iter().filter_map(|(walk, _)| walk.as_fd()));
        let mut fds: Vec<PollFd> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        // Up to a millisecond more, so that it is not asked again and again before that.
        let timeout = time + Duration::from_micros(999);
        match poll(&mut fds, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX)) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
        let readable: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(true)).collect();
        let mut read = Ok(());
        for (watch, _) in heard.iter_mut().zip(&readable[2..]).filter(|(_, readable)| **readable) {
            let heard = match watch.read() {
                Ok(heard) => heard,
                Err(error) => {
                    read = Err(error);
                    continue;
                }
            };
            let mut news = locked(&self.news);
            if heard.of_programs > 0 {
                let trouble = format!("in network namespace {}", watch.inode);
                news.trouble.extend(self.troubles.tell(Step::HearKernelAlone, trouble, |_| true));
            }
            if watch.is_full {
                let trouble = format!("network namespace {} has more than {ROOM}", watch.inode);
                news.trouble.extend(self.troubles.tell(Step::KnowAll, trouble, |_| true));
            }
            news.dropped += heard.of_programs;
            news.affected.extend(heard.affected);
        }
        for (namespace, interface) in self.waiting.read()? {
            if let Some(watch) = self.watches.get_mut(namespace) {
                watch.ask_for(interface, now);
            }
        }
        read.map(|()| readable[0])
    }

    /// Begins to make connections send new data that go over an interface whose carrier is back. Where that fails in one
    /// namespace, others are tried.
    fn nudge(&mut self, now: Instant) -> io::Result<()> {
        let mut nudged = Ok(());
        for watch in self.watches.iter_mut() {
            let namespace = watch.changes.namespace();
            if !may_begin(&self.walks, namespace) || !watch.is_allowed(now) {
                continue;
            }
            let back: Vec<u32> =
                (0..NUDGED_AT_ONCE).map_while(|_| watch.take_carrier_back()).collect();
            if back.is_empty() {
                continue;
            }
            let (begun, taken) = timed(|| self.nudge.begin(&mut self.walker, watch, back));
            watch.allowance.charge(taken);
            match begun {
                Ok((walk, nudging)) => self.walks.push((walk, Goal::Nudge(namespace, nudging))),
                Err(error) => nudged = Err(error),
            }
        }
        nudged
    }

    /// Takes what has come of walks. What one has taken is its namespace's; where one has not ended in time, all of that
    /// time.
    fn end_walks(&mut self, now: Instant) {
        for (walk, goal) in std::mem::take(&mut self.walks) {
            let (until, inode) = (walk.begun() + LONGEST, walk.namespace());
            let (progress, mut taken) = timed(|| self.walker.look(walk, until));
            let walked = match progress {
                Progress::GoesOn(walk) => {
                    self.walks.push((walk, goal));
                    continue;
                }
                Progress::Done(walked) => walked,
            };
            if walked.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
                taken += LONGEST;
            }
            let named = |error| io::Error::other(format!("{}: {error}", describe(inode)));
            let walked = walked.map_err(named);
            let mut watch = self.watches.get_mut(goal.namespace());
            if let Some(watch) = &mut watch {
                watch.allowance.charge(taken);
            }
            match goal {
                Goal::Nudge(_, nudging) => match self.nudge.end(&nudging, walked) {
                    Ok(connections) => locked(&self.news).revived += connections,
                    Err(error) => self.note(Step::Nudge, Err(error)),
                },
                Goal::Search(_, searching) => match self.search.end(&searching, walked) {
                    Ok(stranded) => locked(&self.news).stranded.extend(stranded),
                    Err(error) => {
                        if let Some(watch) = watch {
                            watch.removed.note(searching.addresses.into_iter().collect(), now);
                        }
                        self.note(Step::LookForStranded, Err(error));
                    }
                },
            }
        }
    }

    /// Asks for carriers, and makes connections send whose path may be back.
    fn revive(&mut self, now: Instant) -> io::Result<()> {
        let mut revived = Ok(());
        let mut looking: BTreeMap<u32, &mut Watch> = BTreeMap::new();
        for watch in self.watches.iter_mut() {
            if !watch.takes_look(now) {
                continue;
            }
            match watch.ask() {
                Err(error) if !is_passing(&error) => revived = Err(error),
                _ => {}
            }
            if !watch.tried.is_empty() {
                looking.insert(watch.changes.namespace(), watch);
            }
        }
        if looking.is_empty() {
            return revived;
        }
        let (stalled, taken) = timed(|| self.listing.stalled());
        let share = taken / looking.len() as u32;
        looking.values_mut().for_each(|watch| watch.allowance.charge(share));
        for it in stalled? {
            let watch = looking.get_mut(&it.namespace);
            let Some(watch) = watch.filter(|watch| watch.tried.has(&it)) else { continue };
            let (sent, taken) = timed(|| send(watch, &it));
            watch.allowance.charge(taken);
            match sent {
                Ok(sent) => locked(&self.news).revived += u64::from(sent),
                // Its own address may be gone since, or there is no room for the moment.
                Err(error) if is_passing(&error) => {}
                Err(error) => revived = Err(error),
            }
        }
        revived
    }

    /// Begins to look for connections whose address has been gone for long enough.
    fn look_for_stranded(&mut self, now: Instant) -> io::Result<()> {
        let mut looked = Ok(());
        for watch in self.watches.iter_mut() {
            let namespace = watch.changes.namespace();
            if !may_begin(&self.walks, namespace) || !watch.is_allowed(now) {
                continue;
            }
            let addresses = watch.removed.take_due(now);
            if addresses.is_empty() {
                continue;
            }
            let search = || self.search.begin(&mut self.walker, watch, &addresses);
            let (begun, taken) = timed(search);
            watch.allowance.charge(taken);
            match begun {
                Ok(None) => {}
                Ok(Some((walk, searching))) => {
                    self.walks.push((walk, Goal::Search(namespace, searching)));
                }
                Err(error) => {
                    watch.removed.note(addresses.into_iter().collect(), now);
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
        let trouble = error.to_string();
        let told = self.troubles.tell(step, trouble.clone(), |told| told == trouble);
        locked(&self.news).trouble.extend(told);
    }
}

/// Whether another walk may begin, in this namespace.
fn may_begin(walks: &[(Walk, Goal)], namespace: u32) -> bool {
    walks.len() < WALKS && !walks.iter().any(|(_, goal)| goal.namespace() == namespace)
}

/// Makes a connection send. Returns whether it was.
fn send(watch: &Watch, stalled: &Stalled) -> io::Result<bool> {
    // A message to an address that is not the host's would leave it.
    let Some(steps) = stalled.steps().filter(|_| watch.changes.has_address(stalled.local.ip()))
    else {
        return Ok(false);
    };
    let messenger = watch.messenger.as_ref().ok_or(io::ErrorKind::PermissionDenied)?;
    messenger.send(stalled, steps).map(|()| true)
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
