use serde::Serialize;

use crate::departures::{Departures, Order};
use crate::{DropCause, Dropped, Element, Intervals, Outcome, Packet, Span, Time};

/// The times at which nothing passes, and what is done with packets that arrive then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutageSpec {
    /// The times at which nothing passes.
    #[serde(flatten)]
    pub when: Intervals,
    /// Whether packets wait for the end, to leave all at once, or are dropped.
    pub hold: bool,
    /// Whether the hosts whose packets enter the network here see that their interface has no carrier. The element
    /// does nothing with it.
    pub carrier: bool,
}

/// An outage: in given intervals all packets that arrive are dropped, or held until the end. An interval
/// includes its first moment, and not its last.
#[derive(Debug)]
pub struct Outage<P> {
    spec: OutageSpec,
    held: Departures<Packet<P>>,
}

impl<P> Outage<P> {
    /// Makes an outage. The intervals are as described at [`Intervals`].
    pub fn new(spec: OutageSpec) -> Outage<P> {
        Outage { spec, held: Departures::new(Order::Kept) }
    }
}

impl<P> Element<P> for Outage<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        match self.spec.when.left(now) {
            None if self.held.next().is_none() => Outcome::Passed(packet),
            // Some packets are due now and still here; they go first.
            None => self.hold(now, Span::ZERO, packet),
            Some(left) if self.spec.hold => self.hold(now, left, packet),
            Some(_) => Outcome::Dropped(Dropped { packet, cause: DropCause::Outage }),
        }
    }

    fn next(&self) -> Option<Time> {
        self.held.next()
    }

    fn dequeue(&mut self, _now: Time) -> Outcome<P> {
        self.held.pop().map_or(Outcome::Held, Outcome::Passed)
    }
}

impl<P> Outage<P> {
    fn hold(&mut self, now: Time, left: Span, packet: Packet<P>) -> Outcome<P> {
        self.held.push(now, left, packet);
        Outcome::Held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn spec(intervals: &[(u64, u64)], every: Option<u64>, hold: bool) -> OutageSpec {
        let intervals = intervals.iter().map(|&(from, to)| (at(from), at(to))).collect();
        OutageSpec {
            when: Intervals { intervals, every: every.map(Span::from_millis) },
            hold,
            carrier: false,
        }
    }

    /// The milliseconds, of the first hundred, in which a packet that arrives passes at once.
    fn passes(spec: OutageSpec) -> Vec<u64> {
        let mut outage = Outage::new(spec);
        let passes = |ms: &u64| {
            let outcome = outage.enqueue(at(*ms), Packet::test(*ms, 40));
            matches!(outcome, Outcome::Passed(_))
        };
        (0..100).filter(passes).collect()
    }

    #[test]
    fn packets_are_lost_in_the_intervals_and_only_there() {
        let once: Vec<u64> = (0..10).chain(30..40).chain(50..100).collect();
        assert_eq!(passes(spec(&[(10, 30), (40, 50)], None, false)), once);
        let repeated: Vec<u64> =
            (5..20).chain(39..40).chain(45..60).chain(79..80).chain(85..100).collect();
        assert_eq!(passes(spec(&[(0, 5), (20, 39)], Some(40), false)), repeated);
    }

    #[test]
    fn held_packets_leave_in_order_at_the_end() {
        let mut outage = Outage::new(spec(&[(10, 30)], None, true));
        for (number, ms) in [(0, 10), (1, 29)] {
            assert_eq!(outage.enqueue(at(ms), Packet::test(number, 40)), Outcome::Held);
        }
        assert_eq!(outage.next(), Some(at(30)));
        assert_eq!(outage.dequeue(at(30)), Outcome::Passed(Packet::test(0, 40)));
        // A packet that arrives at that very moment waits for the other.
        assert_eq!(outage.enqueue(at(30), Packet::test(2, 40)), Outcome::Held);
        for number in [1, 2] {
            assert_eq!(outage.next(), Some(at(30)));
            assert_eq!(outage.dequeue(at(30)), Outcome::Passed(Packet::test(number, 40)));
        }
        let packet = Packet::test(3, 40);
        assert_eq!(outage.enqueue(at(31), packet), Outcome::Passed(packet));
    }
}
