//! The processor time that the connections of a network namespace may take: a token bucket.

use std::time::{Duration, Instant};

use crate::namespaces::processor_time;

/// What a namespace may take of the time, so that many connections on a link that flaps cost no more: one part of these.
const SHARE: u32 = 25;
/// So much more may they take at first: just after a change the next look is worth most.
const AT_FIRST: Duration = Duration::from_millis(200);
/// More is not owed, however long a look was.
const MOST_OWED: Duration = Duration::from_secs(1);

/// What a namespace has taken beyond its share.
pub(super) struct Allowance {
    owed: Duration,
    reckoned_at: Instant,
}

impl Allowance {
    pub fn full() -> Allowance {
        Allowance { owed: Duration::ZERO, reckoned_at: Instant::now() }
    }

    /// How long it takes until there may be another look.
    pub fn refused_for(&mut self, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.reckoned_at);
        self.owed = self.owed.saturating_sub(since / SHARE);
        self.reckoned_at = now;
        self.owed.saturating_sub(AT_FIRST) * SHARE
    }

    /// Looks, and remembers what that took.
    pub fn spend<T>(&mut self, look: impl FnOnce() -> T) -> T {
        let (seen, taken) = timed(look);
        self.charge(taken);
        seen
    }

    /// Remembers what a look has taken.
    pub fn charge(&mut self, taken: Duration) {
        self.owed = (self.owed + taken).min(MOST_OWED);
    }
}

/// Does something, and tells the processor time that it took.
pub(super) fn timed<T>(look: impl FnOnce() -> T) -> (T, Duration) {
    let before = processor_time();
    let seen = look();
    (seen, processor_time().saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use kirikae_checks::{Need, can_run};

    use super::*;
    use crate::namespaces::{OWN, within};

    const TAKEN: Duration = Duration::from_millis(20);

    #[test]
    fn looks_are_free_at_first_and_then_take_their_share() {
        let begin = Instant::now();
        let mut allowance = Allowance { owed: AT_FIRST, reckoned_at: begin };
        assert_eq!(allowance.refused_for(begin), Duration::ZERO);
        allowance.owed += Duration::from_millis(10);
        assert_eq!(allowance.refused_for(begin), Duration::from_millis(250));
        let later = begin + Duration::from_millis(100);
        assert_eq!(allowance.refused_for(later), Duration::from_millis(150));
        assert_eq!(allowance.refused_for(begin + Duration::from_millis(250)), Duration::ZERO);
        allowance.refused_for(begin + Duration::from_secs(60));
        assert_eq!(allowance.owed, Duration::ZERO);
        allowance.charge(Duration::from_secs(100));
        assert_eq!(allowance.owed, MOST_OWED);
    }

    #[test]
    fn what_others_take_is_no_cost_of_a_look() {
        let work = || {
            let begin = processor_time();
            while processor_time() < begin + TAKEN {}
        };
        let mut allowance = Allowance::full();
        allowance.spend(work);
        assert!(allowance.owed >= TAKEN, "{:?}", allowance.owed);
        allowance.owed = Duration::ZERO;
        allowance.spend(|| std::thread::spawn(work).join()).unwrap();
        assert!(allowance.owed < TAKEN / 2, "{:?}", allowance.owed);
    }

    #[test]
    fn what_is_done_in_another_namespace_is_a_cost_of_the_look() {
        if !can_run(&[Need::Root]) {
            return;
        }
        let work = || {
            let begin = processor_time();
            while processor_time() < begin + TAKEN {}
            Ok(())
        };
        let mut allowance = Allowance::full();
        let own = File::open(OWN).unwrap();
        allowance.spend(|| within(&own, work)).unwrap();
        assert!(allowance.owed >= TAKEN, "{:?}", allowance.owed);
    }
}
