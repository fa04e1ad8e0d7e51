//! What the thread does: it hears of changes, and does what follows from them, each namespace within its own allowance.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;

use super::allowance::timed;
use super::nudge::Nudge;
use super::stalled::{Listing, Stalled};
use super::stranded::Search;
use super::waiting::Waiting;
use super::watch::Watch;
use super::watches::Watches;
use super::{DOING, NetworkNews, locked};
use crate::error::{Doing, Error};
use crate::network_changes::ROOM;
use crate::switcher::Switcher;

/// How often the agent looks in which namespaces there are connections.
const LOOK: Duration = Duration::from_secs(1);
/// What goes on failing is told again after this time.
const TELL_AGAIN: Duration = Duration::from_secs(3600);
/// So many interfaces of a namespace have their connections made to send in a look.
const NUDGED_AT_ONCE: usize = 16;

pub(super) struct Reviver {
    listing: Listing,
    nudge: Nudge,
    waiting: Waiting,
    watches: Watches,
    search: Search,
    news: Arc<Mutex<NetworkNews>>,
    troubles: Troubles,
}

/// What has failed, and when it was told last.
#[derive(Debug, Default)]
struct Troubles(BTreeMap<Step, (String, Instant)>);

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

impl Step {
    /// What does not work where it has failed.
    fn lost(self) -> &'static str {
        match self {
            Step::FollowNamespaces | Step::Wait | Step::Nudge | Step::Revive => {
                "connections are not made to send when their path is back"
            }
            Step::LookForStranded => "connections whose address is gone are not told of",
            Step::HearKernelAlone => {
                "messages of programs to the agent's netlink socket are dropped"
            }
            Step::KnowAll => "not all interfaces and addresses are known",
        }
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
        let time = idle.min().unwrap_or(LOOK);
        // What a namespace tells that has taken more than its share is left to the kernel.
        let mut heard: Vec<&mut Watch> = self
            .watches
            .iter_mut()
            .filter_map(|watch| watch.is_allowed(now).then_some(watch))
            .collect();
        let fds = [stop.as_fd(), self.waiting.as_fd()].into_iter();
        let fds = fds.chain(heard.iter().map(|watch| watch.changes.as_fd()));
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

    /// Makes connections send new data that go over an interface whose carrier is back. Where that fails over one,
    /// others are tried.
    fn nudge(&mut self, now: Instant) -> io::Result<()> {
        let mut nudged = Ok(());
        for watch in self.watches.iter_mut() {
            for _ in 0..NUDGED_AT_ONCE {
                let next = if watch.is_allowed(now) { watch.take_carrier_back() } else { None };
                let Some(interface) = next else { break };
                match watch.allowance.spend(|| self.nudge.nudge(&watch.file, interface)) {
                    Ok(connections) => locked(&self.news).revived += connections,
                    Err(error) => nudged = Err(error),
                }
            }
        }
        nudged
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

    /// Looks for connections whose address has been gone for long enough.
    fn look_for_stranded(&mut self, now: Instant) -> io::Result<()> {
        let mut looked = Ok(());
        for watch in self.watches.iter_mut() {
            if !watch.is_allowed(now) {
                continue;
            }
            let addresses = watch.removed.take_due(now);
            if addresses.is_empty() {
                continue;
            }
            let search = || self.search.stranded(&watch.file, &addresses);
            match watch.allowance.spend(search) {
                Ok(stranded) => locked(&self.news).stranded.extend(stranded),
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

impl Troubles {
    /// What is to be told, unless what was told last of this step is the same and not an hour old.
    fn tell(
        &mut self,
        step: Step,
        trouble: String,
        is_same: impl FnOnce(&str) -> bool,
    ) -> Option<String> {
        let told = self.0.get(&step);
        if told.is_some_and(|(told, at)| is_same(told) && at.elapsed() < TELL_AGAIN) {
            return None;
        }
        let line = format!("{}: {trouble}", step.lost());
        self.0.insert(step, (trouble, Instant::now()));
        Some(line)
    }
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
