//! Activity at a pace of its own that goes on only in turns.

use crate::{Span, Time};

/// Turns of activity with pauses between them. Only time in the turns counts, so that events at a rate have
/// that rate during the activity, however short the turns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnTime {
    ends: Time,
}

impl OnTime {
    /// Begins with a turn that ends at `ends`.
    pub fn until(ends: Time) -> OnTime {
        OnTime { ends }
    }

    /// The time at which something happens that would happen at `next` without pauses. `turn` returns the
    /// lengths of the next turn and the pause after it; a turn is longer than 0 sooner or later.
    pub fn after_pauses(&mut self, mut next: Time, mut turn: impl FnMut() -> (Span, Span)) -> Time {
        while next >= self.ends {
            let beyond = next - self.ends;
            let (off, on) = turn();
            let begins = self.ends + off;
            next = begins + beyond;
            self.ends = begins + on;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_longer_than_a_turn_spans_several() {
        let ms = Span::from_millis;
        // The activity is on for 1 ms of every 3 ms, with an event each 2.5 ms of it.
        let mut turns = OnTime::until(Time::ZERO + ms(1));
        let gap = Span::from_nanos(2_500_000);
        let mut at = Time::ZERO;
        let mut times = Vec::new();
        for _ in 0..4 {
            at = turns.after_pauses(at + gap, || (ms(2), ms(1)));
            times.push(at.as_nanos() / 100_000);
        }
        // Events are at 2.5, 5, 7.5 and 10 ms of activity: in the turns that begin at 6, 15, 21 and 30 ms.
        assert_eq!(times, [65, 150, 215, 300]);
    }
}
