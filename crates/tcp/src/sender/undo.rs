//! Undoes a reduction of the window that was wrong because segments that counted as lost had only been
//! delayed. There are two signs of it: each segment that was sent again arrived twice (DSACK, RFC 3708), or
//! an ACK echoes a timestamp older than the retransmission (the Eifel detection, RFC 3522). What is then
//! restored is the Eifel response (RFC 4015).

/// What is remembered of the latest reduction, so that it can be undone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// Whether the profile undoes reductions at all.
    is_enabled: bool,
    /// First byte not ACKed when the reduction began. None: there is nothing to undo.
    marker: Option<u64>,
    /// Number of retransmissions of which no DSACK has told. None: nothing was sent again.
    outstanding: Option<u32>,
    /// Slow start threshold before the reduction, segments; 0: it must not be restored.
    prior_ssthresh: u32,
    /// When something was first sent again, in milliseconds of the timestamps' clock.
    retransmitted_at_ms: Option<u32>,
}

impl Undo {
    /// The state before any reduction. If it is not enabled, it never changes.
    pub fn new(is_enabled: bool) -> Undo {
        Undo { is_enabled, ..Undo::default() }
    }

    /// Notes that a reduction begins: `una` is the first byte not ACKed, and so many retransmissions are
    /// still in flight.
    pub fn begin(&mut self, una: u64, retransmissions_in_flight: u32) {
        self.marker = Some(una);
        let outstanding = retransmissions_in_flight;
        self.outstanding = (outstanding > 0).then_some(outstanding);
    }

    /// Gives the undo up: the reduction stands.
    pub fn give_up(&mut self) {
        self.marker = None;
    }

    /// Whether there is a reduction that may still be undone.
    pub fn is_pending(&self) -> bool {
        self.marker.is_some()
    }

    /// Remembers the threshold that undoing the reduction restores, segments.
    pub fn remember_ssthresh(&mut self, ssthresh: u32) {
        self.prior_ssthresh = ssthresh;
    }

    /// Keeps window and threshold as they are, even if the reduction is undone: there was a mark (ECN), or
    /// another algorithm decides on them now.
    pub fn forget_ssthresh(&mut self) {
        self.prior_ssthresh = 0;
    }

    /// Notes that a segment is sent again at this time of the timestamps' clock.
    pub fn sent_again(&mut self, now_ms: u32) {
        self.retransmitted_at_ms.get_or_insert(now_ms);
        *self.outstanding.get_or_insert(0) += 1;
    }

    /// Notes that no retransmission is in flight any more: the next one begins a new episode.
    pub fn forget_retransmissions(&mut self) {
        self.retransmitted_at_ms = None;
    }

    /// When something was first sent again in this episode, in milliseconds of the timestamps' clock.
    pub fn retransmitted_at_ms(&self) -> Option<u32> {
        self.retransmitted_at_ms
    }

    /// Notes a DSACK for so many segments, which end at `end` and arrived twice after they were sent again.
    /// What lies below the marker belongs to an earlier episode.
    pub fn on_dsack(&mut self, end: u64, segments: u32) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(outstanding) = &mut self.outstanding
        {
            *outstanding = outstanding.saturating_sub(segments);
        }
    }

    /// Whether DSACKs have told of everything that was sent again.
    pub fn all_were_duplicates(&self) -> bool {
        self.is_enabled && self.is_pending() && self.outstanding == Some(0)
    }

    /// Whether an ACK that echoes this timestamp, if any, shows that an original was only delayed. With
    /// `unsent_tells` the ACK counts as one for an original if nothing was sent again.
    pub fn original_was_delayed(&self, echo_ms: Option<u32>, unsent_tells: bool) -> bool {
        let is_older = match (self.retransmitted_at_ms, echo_ms) {
            (Some(again_ms), Some(echo_ms)) => is_before(echo_ms, again_ms),
            (Some(_), None) => false,
            (None, _) => unsent_tells,
        };
        self.is_enabled && self.is_pending() && is_older
    }

    /// Undoes the reduction. Returns the threshold to restore, segments; None if window and threshold stay as
    /// they are.
    pub fn take_back(&mut self) -> Option<u32> {
        self.marker = None;
        (self.prior_ssthresh > 0).then_some(self.prior_ssthresh)
    }
}

/// Whether one time of the timestamps' clock, which wraps, is before another.
pub(super) fn is_before(a_ms: u32, b_ms: u32) -> bool {
    a_ms.wrapping_sub(b_ms).cast_signed() < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reduction from a threshold of 40, with `segments` sent again at 1000 ms.
    fn episode(segments: u32) -> Undo {
        let mut undo = Undo::new(true);
        undo.begin(5_001, 0);
        undo.remember_ssthresh(40);
        (0..segments).for_each(|_| undo.sent_again(1_000));
        undo
    }

    #[test]
    fn when_dsacks_told_of_all_that_was_sent_again_it_was_in_vain() {
        let mut undo = episode(3);
        undo.on_dsack(6_001, 1);
        assert!(!undo.all_were_duplicates());
        undo.on_dsack(8_001, 2);
        assert!(undo.all_were_duplicates());
        assert_eq!(undo.take_back(), Some(40));
        assert!(!undo.all_were_duplicates(), "it is taken back once");
    }

    #[test]
    fn a_dsack_of_an_earlier_episode_does_not_count() {
        let mut undo = episode(1);
        undo.on_dsack(5_001, 1);
        assert!(!undo.all_were_duplicates());
        undo.on_dsack(5_002, 1);
        assert!(undo.all_were_duplicates());
    }

    #[test]
    fn dsacks_tell_nothing_where_nothing_was_sent_again() {
        let mut undo = episode(0);
        undo.on_dsack(6_001, 1);
        assert!(!undo.all_were_duplicates());
    }

    #[test]
    fn what_is_in_flight_again_when_the_reduction_begins_has_to_be_told_of_too() {
        let mut undo = Undo::new(true);
        undo.begin(5_001, 2);
        undo.sent_again(1_000);
        undo.on_dsack(7_001, 2);
        assert!(!undo.all_were_duplicates());
        undo.on_dsack(8_001, 1);
        assert!(undo.all_were_duplicates());
    }

    #[test]
    fn an_echo_older_than_the_retransmission_is_for_the_original() {
        // RFC 3522, section 3.2, step 5: "smaller than the value of RetransmitTS".
        let undo = episode(2);
        assert!(undo.original_was_delayed(Some(999), false));
        assert!(!undo.original_was_delayed(Some(1_000), false), "the same tick tells nothing");
        assert!(!undo.original_was_delayed(Some(1_001), false));
        assert!(!undo.original_was_delayed(None, true), "without timestamps nothing is known");
    }

    #[test]
    fn only_the_first_retransmission_counts_for_timestamps_and_the_clock_may_wrap() {
        let mut undo = Undo::new(true);
        undo.begin(1, 0);
        undo.sent_again(2);
        undo.sent_again(900);
        assert_eq!(undo.retransmitted_at_ms(), Some(2));
        assert!(undo.original_was_delayed(Some(u32::MAX), false), "3 ms before 2");
        assert!(!undo.original_was_delayed(Some(3), false));
    }

    #[test]
    fn where_nothing_was_sent_again_an_ack_is_for_an_original_if_that_can_be_told() {
        let mut undo = episode(1);
        undo.forget_retransmissions();
        assert!(undo.original_was_delayed(None, true));
        assert!(!undo.original_was_delayed(None, false));
    }

    #[test]
    fn a_forgotten_threshold_is_not_restored() {
        let mut undo = episode(1);
        undo.forget_ssthresh();
        assert_eq!(undo.take_back(), None);
        assert!(!undo.is_pending());
    }

    #[test]
    fn a_profile_without_undo_takes_nothing_back() {
        let mut undo = Undo::new(false);
        undo.begin(5_001, 0);
        undo.sent_again(1_000);
        undo.on_dsack(6_001, 1);
        assert!(!undo.all_were_duplicates());
        assert!(!undo.original_was_delayed(Some(1), true));
    }
}
