//! What the agent has open in a network namespace, and what is to be done there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use super::allowance::{Allowance, timed};
use super::stranded::Removed;
use super::tried::Tried;
use super::unreachable::Messenger;
use crate::affected_paths::AffectedPaths;
use crate::namespaces::{OWN, within};
use crate::network_changes::{Changes, NetworkChanges};

/// For so long after a timeout, and after its carrier has turned, the agent asks for an interface's carrier: the kernel
/// tells of one that goes up to a second late, and of one that is back by then as late.
const ASKED_FOR: Duration = Duration::from_secs(2);
/// The time between two looks at what waits, where the [`Allowance`] lets them be.
const TICK: Duration = Duration::from_millis(20);
/// So many interfaces are asked for and looked at afterwards: who is root of a namespace can make any number.
const INTERFACES: usize = 1024;

/// A namespace whose changes are heard. Who is root there decides how much changes, so that all that is noted has a
/// bound, and what it takes is the namespace's own allowance.
pub(super) struct Watch {
    /// By which it is entered.
    pub file: File,
    /// By which the operator finds it.
    pub inode: u32,
    pub changes: NetworkChanges,
    /// None: the agent may not send messages, as without CAP_NET_RAW.
    pub messenger: Option<Messenger>,
    pub allowance: Allowance,
    /// Paths that may be back.
    pub tried: Tried,
    /// Addresses that were removed.
    pub removed: Removed,
    /// Interfaces whose carrier is asked for, and until when.
    asked: BTreeMap<u32, Instant>,
    /// Interfaces whose carrier is back and whose silent connections have still to send.
    carriers_back: BTreeSet<u32>,
    /// When there may be a look again at what waits.
    next_look: Instant,
    /// Whether there was more than is remembered.
    pub is_full: bool,
}

/// What was heard.
pub(super) struct Heard {
    /// What is known of these paths is of another network.
    pub affected: AffectedPaths,
    /// How many messages were a program's.
    pub of_programs: u64,
}

impl Watch {
    /// Watches the namespace of that file.
    pub fn begin_in(file: &File) -> io::Result<Watch> {
        let (watch, taken) = timed(|| within(file, Watch::begin));
        watch.map(|mut watch| {
            watch.allowance.charge(taken);
            watch
        })
    }

    /// Watches the namespace of the calling thread.
    pub fn begin() -> io::Result<Watch> {
        let messenger = match Messenger::open() {
            Ok(messenger) => Some(messenger),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            Err(error) => return Err(error),
        };
        let file = File::open(OWN)?;
        Ok(Watch {
            inode: file.metadata()?.ino() as u32,
            file,
            changes: NetworkChanges::listen()?,
            messenger,
            allowance: Allowance::full(),
            tried: Tried::default(),
            removed: Removed::default(),
            asked: BTreeMap::new(),
            carriers_back: BTreeSet::new(),
            next_look: Instant::now(),
            is_full: false,
        })
    }

    /// Reads what has changed, and notes what is to be done.
    pub fn read(&mut self) -> io::Result<Heard> {
        let Changes { affected, may_be_back, carriers, removed, of_programs } =
            self.allowance.spend(|| self.changes.read())?;
        let now = Instant::now();
        affected.interfaces().for_each(|interface| self.ask_for(interface, now));
        let room = INTERFACES.saturating_sub(self.carriers_back.len());
        self.carriers_back.extend(carriers.into_iter().take(room));
        if !may_be_back.is_empty() {
            self.tried.add(may_be_back, now);
            // What has just come back is worth a look of its own.
            self.next_look = now;
        }
        self.is_full |= !self.removed.note(removed, now) || self.changes.is_full();
        Ok(Heard { affected, of_programs })
    }

    /// Asks for this interface's carrier for a while.
    pub fn ask_for(&mut self, interface: u32, now: Instant) {
        if self.asked.len() < INTERFACES || self.asked.contains_key(&interface) {
            self.asked.insert(interface, now + ASKED_FOR);
        }
    }

    /// Forgets what has been asked for and tried for long enough.
    pub fn expire(&mut self, now: Instant) {
        self.tried.expire(now);
        self.asked.retain(|_, until| *until > now);
    }

    /// Whether anything may be done in it now.
    pub fn is_allowed(&mut self, now: Instant) -> bool {
        self.allowance.refused_for(now).is_zero()
    }

    /// Whether nothing waits.
    fn is_idle(&self) -> bool {
        self.tried.is_empty() && self.asked.is_empty() && self.carriers_back.is_empty()
    }

    /// Whether there is something to look at that may be looked at now; then that is noted.
    pub fn takes_look(&mut self, now: Instant) -> bool {
        let takes = !self.is_idle() && self.is_allowed(now) && now >= self.next_look;
        if takes {
            self.next_look = now + TICK;
        }
        takes
    }

    /// How long it takes until something is to be done, if nothing changes; `most` if nothing waits.
    pub fn idle_for(&mut self, now: Instant, most: Duration) -> Duration {
        let refused = self.allowance.refused_for(now);
        let next = self.next_look.saturating_duration_since(now);
        let next = if self.is_idle() { most } else { next };
        // What it tells is not read either while it is refused.
        if refused.is_zero() { next.min(most) } else { refused.min(most) }
    }

    /// Takes an interface whose carrier is back.
    pub fn take_carrier_back(&mut self) -> Option<u32> {
        self.carriers_back.pop_first()
    }

    /// Asks for the carriers of interfaces. The answers are among the changes that are read.
    pub fn ask(&mut self) -> io::Result<()> {
        self.allowance.spend(|| self.changes.ask(self.asked.keys().copied()))
    }
}
