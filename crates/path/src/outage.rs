use serde::Serialize;

use crate::check::{Unfit, check};
use crate::departures::{Departures, Order};
use crate::{DropCause, Dropped, Element, Outcome, Packet, Span, Time};

/// When nothing passes, and what becomes of what arrives meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutageSpec {
    /// From each first time to each second one, ascending and apart from each other.
    pub intervals: Vec<(Time, Time)>,
    /// The intervals come again after this time, and again: they count from a multiple of it and
    /// lie within it.
    pub every: Option<Span>,
    /// Whether packets wait for the end, to leave all at once, or are dropped.
    pub hold: bool,
}

impl OutageSpec {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        const FIELD: &str = "intervals";
        let mut last = None;
        for &(from, to) in &self.intervals {
            check(from < to, FIELD, format_args!("{from} to {to}"), "an end after the start")?;
            let later = last.is_none_or(|last| last < from);
            check(later, FIELD, from, "each interval after the end of the one before")?;
            last = Some(to);
        }
        let Some(last) = last else {
            return check(false, FIELD, "nothing", "at least one interval");
        };
        let Some(every) = self.every else { return Ok(()) };
        let end = Time::ZERO + every;
        let ends = last < end || last == end && self.intervals[0].0 > Time::ZERO;
        check(ends, "every", every, "longer than the intervals, so that the outage ends")
    }
}

/// An outage: during given intervals everything that arrives is dropped, or held until the end. The
/// first moment of an interval belongs to it, the last does not.
#[derive(Debug)]
pub struct Outage<P> {
    spec: OutageSpec,
    held: Departures<Packet<P>>,
}

impl<P> Outage<P> {
    /// With intervals as described at [`OutageSpec`].
    pub fn new(spec: OutageSpec) -> Outage<P> {
        Outage { spec, held: Departures::new(Order::Kept) }
    }

    /// How long the outage still lasts, if there is one.
    fn left(&self, now: Time) -> Option<Span> {
        let within = match self.spec.every {
            Some(every) => Time::from_nanos(now.as_nanos() % every.as_nanos()),
            None => now,
        };
        let after = self.spec.intervals.partition_point(|(from, _)| *from <= within);
        let (_, to) = *self.spec.intervals.get(after.checked_sub(1)?)?;
        (within < to).then(|| to - within)
    }
}

impl<P> Element<P> for Outage<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        match self.left(now) {
            None if self.held.next().is_none() => Outcome::Passed(packet),
            // Some are due now and still here: they go first.
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
        OutageSpec { intervals, every: every.map(Span::from_millis), hold }
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
        // One that arrives at that very moment waits for the other.
        assert_eq!(outage.enqueue(at(30), Packet::test(2, 40)), Outcome::Held);
        for number in [1, 2] {
            assert_eq!(outage.next(), Some(at(30)));
            assert_eq!(outage.dequeue(at(30)), Outcome::Passed(Packet::test(number, 40)));
        }
        let packet = Packet::test(3, 40);
        assert_eq!(outage.enqueue(at(31), packet), Outcome::Passed(packet));
    }

    #[test]
    fn intervals_that_are_none_or_never_end_are_refused() {
        type Case<'a> = (&'a [(u64, u64)], Option<u64>, &'a str);
        let refused: [Case; 7] = [
            (&[], None, "intervals"),
            (&[(5, 5)], None, "intervals"),
            (&[(5, 9), (9, 10)], None, "intervals"),
            (&[(5, 9), (2, 3)], None, "intervals"),
            (&[(0, 9)], Some(9), "every"),
            (&[(5, 9)], Some(8), "every"),
            (&[(0, 5), (6, 9)], Some(9), "every"),
        ];
        for (intervals, every, field) in refused {
            let unfit = spec(intervals, every, false).check().unwrap_err();
            assert_eq!(unfit.field, field, "{intervals:?} {every:?}");
        }
        assert_eq!(spec(&[(5, 9)], Some(9), false).check(), Ok(()));
    }
}
