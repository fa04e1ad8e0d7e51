//! CoDel, which drops by how long packets have waited (RFC 8289).
//!
//! Deliberate differences from the pseudocode of section 5:
//! 1. It decides packet by packet (`drops`), and the queue holds the loop.
//! 2. The next drop is scheduled with each drop, also when that drop turns out to be the state's
//!    last; the time is then used for no more than "lately" when the state is entered again.
//! 3. Where marking is asked for, an ECN-capable packet is marked and leaves, and the mark counts as
//!    a drop, as in Linux's sch_codel; the RFC's pseudocode only drops.

use serde::Serialize;

use crate::check::{Unfit, positive};
use crate::{Span, Time};

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CoDelSpec {
    /// The wait that may last for ever: above 0, 5 ms in the RFC.
    pub target: Span,
    /// How long the wait must stay above the target: above 0, 100 ms in the RFC, about the
    /// largest usual round trip.
    pub interval: Span,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub mark: bool,
}

impl CoDelSpec {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        positive("target", self.target)?;
        positive("interval", self.interval)
    }
}

/// CoDel's state for one queue.
#[derive(Debug)]
pub(crate) struct CoDel {
    spec: CoDelSpec,
    /// When the wait will have been above the target for an interval, if it stays so.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Drops since the dropping state was entered.
    count: u32,
    /// `count` when it was last entered.
    last_count: u32,
    /// The largest packet so far: with no more than this waiting, the link is not congested.
    largest: u32,
}

impl CoDel {
    pub fn new(spec: CoDelSpec) -> CoDel {
        CoDel {
            spec,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            largest: 0,
        }
    }

    /// Whether ECN-capable packets are marked instead of dropped.
    pub fn marks(&self) -> bool {
        self.spec.mark
    }

    /// The queue was found empty.
    pub fn empty(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// Whether the packet at the head, of `bytes`, which has waited for `waited` and leaves
    /// `left` bytes behind, is to be dropped.
    pub fn drops(&mut self, now: Time, bytes: u32, waited: Span, left: u64) -> bool {
        self.largest = self.largest.max(bytes);
        if !self.stays_above(now, waited, left) {
            self.dropping = false;
            return false;
        }
        if self.dropping {
            if now < self.drop_next {
                return false;
            }
            self.count += 1;
            self.drop_next = self.control_law(self.drop_next);
        } else {
            self.dropping = true;
            // "If min went above TARGET close to when it last went below, assume that the drop rate
            // that controlled the queue on the last cycle is a good starting point to control it
            // now."
            let delta = self.count - self.last_count;
            let lately = now < self.drop_next + self.spec.interval * 16;
            self.count = if delta > 1 && lately { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        true
    }

    /// Whether the wait has been above the target for an interval.
    fn stays_above(&mut self, now: Time, waited: Span, left: u64) -> bool {
        if waited < self.spec.target || left <= u64::from(self.largest) {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + self.spec.interval)
    }

    /// `t + interval / sqrt(count)`
    fn control_law(&self, t: Time) -> Time {
        let interval = self.spec.interval.as_nanos() as f64;
        t + Span::from_nanos((interval / f64::from(self.count).sqrt()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn codel() -> CoDel {
        let (target, interval) = (Span::from_millis(5), Span::from_millis(100));
        CoDel::new(CoDelSpec { target, interval, mark: false })
    }

    /// The milliseconds, from..to, in which a packet looked at every millisecond is dropped.
    fn drops(codel: &mut CoDel, from: u64, to: u64, waited: u64, left: u64) -> Vec<u64> {
        let at = |ms| Time::from_nanos(ms * MS);
        let waited = Span::from_millis(waited);
        (from..to).filter(|ms| codel.drops(at(*ms), 1500, waited, left)).collect()
    }

    #[test]
    fn drops_follow_the_control_law() {
        // The first is dropped an interval after the wait rose, the next ones 100/sqrt(1), 100/sqrt(2),
        // 100/sqrt(3), ... later: at 200, 270.71, 328.45, 378.45, 423.17 and 463.99, or at the first look
        // after that.
        let dropped = drops(&mut codel(), 0, 500, 6, 15_000);
        assert_eq!(dropped, [100, 200, 271, 329, 379, 424, 464]);
    }

    #[test]
    fn a_short_wait_or_one_packet_is_no_standing_queue() {
        assert_eq!(drops(&mut codel(), 0, 1000, 4, 15_000), []);
        assert_eq!(drops(&mut codel(), 0, 1000, 500, 1500), []);
        // One look below the target starts the interval anew.
        let mut codel = codel();
        assert_eq!(drops(&mut codel, 0, 99, 6, 15_000), []);
        assert_eq!(drops(&mut codel, 99, 100, 4, 15_000), []);
        assert_eq!(drops(&mut codel, 100, 210, 6, 15_000), [200]);
    }

    #[test]
    fn a_queue_that_comes_back_soon_is_met_with_the_rate_that_held_it() {
        let mut codel = codel();
        assert_eq!(drops(&mut codel, 0, 500, 6, 15_000).len(), 7);
        codel.empty();
        // Seven drops, the first of which was the entry's: count 7, last 1; it starts with 6 and
        // continues 100/sqrt(6) = 40.8 ms later.
        assert_eq!(drops(&mut codel, 500, 700, 6, 15_000)[..2], [600, 641]);
        codel.empty();
        // After 16 intervals all is forgotten, or it would start with 2.
        assert_eq!(drops(&mut codel, 2_500, 2_750, 6, 15_000), [2_600, 2_700]);
    }
}
