use serde::Serialize;

use crate::check::{Unfit, check};
use crate::{Span, Time};

/// Intervals of time, which may repeat. An interval includes its first moment, and not its last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Intervals {
    /// Each interval's beginning and end. They are in order of time and do not touch.
    pub intervals: Vec<(Time, Time)>,
    /// The period after which the intervals repeat. They lie within a period and count from its beginning.
    pub every: Option<Span>,
}

impl Intervals {
    /// Checks the intervals. `field` is the list's name in a scenario file.
    pub(crate) fn check(&self, field: &str) -> Result<(), Unfit> {
        let mut last = None;
        for &(from, to) in &self.intervals {
            check(from < to, field, format_args!("{from} to {to}"), "an end after the start")?;
            let later = last.is_none_or(|last| last < from);
            check(later, field, from, "each interval after the end of the one before")?;
            last = Some(to);
        }
        let Some(last) = last else {
            return check(false, field, "nothing", "at least one interval");
        };
        let Some(every) = self.every else { return Ok(()) };
        let end = Time::ZERO + every;
        let ends = last < end || last == end && self.intervals[0].0 > Time::ZERO;
        check(ends, "every", every, "longer than the intervals, so that they end")
    }

    /// How long the present interval still lasts; None outside of the intervals.
    pub fn left(&self, now: Time) -> Option<Span> {
        let within = self.within_period(now);
        let after = self.intervals.partition_point(|(from, _)| *from <= within);
        let (_, to) = *self.intervals.get(after.checked_sub(1)?)?;
        (within < to).then(|| to - within)
    }

    /// When the next interval begins or the present one ends, after `now`; None if there is none left.
    pub fn next_edge(&self, now: Time) -> Option<Time> {
        let within = self.within_period(now);
        let edges = self.intervals.iter().flat_map(|&(from, to)| [from, to]);
        let later = edges.clone().find(|edge| *edge > within).map(|edge| now + (edge - within));
        let again =
            || Some(now + (Time::ZERO + self.every? - within) + (edges.min()? - Time::ZERO));
        later.or_else(again)
    }

    /// The ends of all intervals until `until`, in order.
    pub fn ends(&self, until: Time) -> Vec<Time> {
        let edges = std::iter::successors(self.next_edge(Time::ZERO), |edge| self.next_edge(*edge));
        // Intervals do not touch, so that nothing lasts at an end.
        edges.take_while(|edge| *edge <= until).filter(|edge| self.left(*edge).is_none()).collect()
    }

    fn within_period(&self, now: Time) -> Time {
        match self.every {
            Some(every) => Time::from_nanos(now.as_nanos() % every.as_nanos()),
            None => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(ms: &[(u64, u64)], every: Option<u64>) -> Intervals {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let intervals = ms.iter().map(|&(from, to)| (at(from), at(to))).collect();
        Intervals { intervals, every: every.map(Span::from_millis) }
    }

    #[test]
    fn edges_come_in_order_and_again() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let edges = |intervals: &Intervals| {
            let mut now = Time::ZERO;
            let mut next = || {
                now = intervals.next_edge(now)?;
                Some(now)
            };
            [next(), next(), next(), next()]
        };
        let once = intervals(&[(0, 10), (20, 30)], None);
        assert_eq!(edges(&once), [Some(at(10)), Some(at(20)), Some(at(30)), None]);
        let repeated = intervals(&[(5, 10)], Some(40));
        assert_eq!(edges(&repeated), [5, 10, 45, 50].map(|ms| Some(at(ms))));
        assert_eq!(once.ends(at(29)), [at(10)]);
        assert_eq!(repeated.ends(at(100)), [at(10), at(50), at(90)]);
        let to_the_end = intervals(&[(5, 40)], Some(40));
        assert_eq!(to_the_end.ends(at(100)), [at(40), at(80)]);
        assert_eq!(edges(&to_the_end), [5, 40, 45, 80].map(|ms| Some(at(ms))));
    }

    #[test]
    fn intervals_that_are_none_or_never_end_are_refused() {
        type Case<'a> = (&'a [(u64, u64)], Option<u64>, &'a str);
        let refused: [Case; 7] = [
            (&[], None, "during"),
            (&[(5, 5)], None, "during"),
            (&[(5, 9), (9, 10)], None, "during"),
            (&[(5, 9), (2, 3)], None, "during"),
            (&[(0, 9)], Some(9), "every"),
            (&[(5, 9)], Some(8), "every"),
            (&[(0, 5), (6, 9)], Some(9), "every"),
        ];
        for (list, every, field) in refused {
            let unfit = intervals(list, every).check("during").unwrap_err();
            assert_eq!(unfit.field, field, "{list:?} {every:?}");
        }
        assert_eq!(intervals(&[(5, 9)], Some(9)).check("during"), Ok(()));
    }
}
