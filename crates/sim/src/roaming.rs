//! What a mobile end is told of its link, for what its TCP does about it.

use kirikae_path::{Span, Time};
use kirikae_tcp::{Endpoint, Handover, Profile, Segment};

use crate::simulation::{End, Mobile};

/// The changes of a mobile end's link that are still to come.
#[derive(Debug)]
pub(crate) struct Roaming {
    pub end: End,
    /// The next one last.
    changes: Vec<(Time, Change)>,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Leaves,
    Returns,
}

impl Roaming {
    /// What is to come for an end with this TCP.
    pub fn new(mobile: &Mobile, profile: &Profile) -> Roaming {
        let freezes = profile.handover == Handover::Freeze;
        let mut changes = Vec::new();
        for gap in &mobile.gaps {
            let ahead = profile.freeze_ahead.min(gap.start - Time::ZERO);
            let warned = Span::from_nanos(gap.start.as_nanos() - ahead.as_nanos());
            changes.extend(freezes.then_some((Time::ZERO + warned, Change::Leaves)));
            changes.push((gap.end, Change::Returns));
        }
        changes.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        Roaming { end: mobile.end, changes }
    }

    /// When the next change is.
    pub fn next(&self) -> Option<Time> {
        self.changes.last().map(|(at, _)| *at)
    }

    /// Tells the end of what has changed by `now`; whether anything has.
    pub fn act(&mut self, now: Time, end: &mut Endpoint, out: &mut Vec<Segment>) -> bool {
        let mut changed = false;
        while let Some((_, change)) = self.changes.pop_if(|(at, _)| *at <= now) {
            match change {
                Change::Leaves => end.link_leaves(now, out),
                Change::Returns => end.link_returns(now, out),
            }
            changed = true;
        }
        changed
    }
}
