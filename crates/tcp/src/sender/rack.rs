//! RACK: a segment is lost if one that was sent sufficiently later was delivered (RFC 8985, section 6).

use super::scoreboard::{Scoreboard, SendOrder};

/// Recoveries for which a wider reordering window is kept (section 6.2, step 4).
const PERSIST_RECOVERIES: u32 = 16;
/// RACK.reo_wnd_mult has eight bits in Linux.
const STEPS_MAX: u32 = 255;

/// RACK's variables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// The most recently sent segment that was delivered: RACK.xmit_ts and RACK.end_seq.
    latest: SendOrder,
    /// The round-trip time of the latest delivery, microseconds: RACK.rtt.
    rtt_us: u64,
    /// Whether something was delivered since the last look for losses.
    has_news: bool,
    /// RACK.reo_wnd_mult: how many quarters of the lowest RTT are allowed for reordering.
    steps: u32,
    /// RACK.reo_wnd_persist: recoveries until the window is a quarter again.
    persist: u32,
    /// Whether a DSACK came in since the window was last adapted.
    dsack_seen: bool,
    /// Segments delivered in all when the window was last adapted.
    adapted_at: u32,
}

/// The result of a look for losses.
#[derive(Debug, Default)]
pub(super) struct Detected {
    /// Positions in the scoreboard of what is lost.
    pub lost: Vec<usize>,
    /// Time until the last of those that are still waited for is lost, microseconds. None: none is waited
    /// for.
    pub wait_us: Option<u64>,
}

/// What the reordering window depends on (section 6.2, step 4).
#[derive(Clone, Copy, Debug)]
pub(super) struct ReorderingWindow {
    /// Whether losses are not waited for: no reordering was seen, and the sender is in recovery or has
    /// dupthresh segments SACKed.
    pub has_shortcut: bool,
    /// Lowest RTT, microseconds; None before the first sample.
    pub min_rtt_us: Option<u64>,
    /// Smoothed RTT, microseconds.
    pub srtt_us: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            latest: (0, 0),
            rtt_us: 0,
            has_news: false,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            adapted_at: 0,
        }
    }
}

impl Rack {
    /// RACK.rtt, microseconds; 0 before anything was delivered.
    pub fn rtt_us(&self) -> u64 {
        self.rtt_us
    }

    /// Notes that a segment is delivered (section 6.2, steps 1 and 2). `transmission` is when it was last
    /// sent, in microseconds, and where it ends.
    pub fn delivered(
        &mut self,
        now_us: u64,
        transmission: SendOrder,
        ever_retransmitted: bool,
        min_rtt_us: Option<u64>,
    ) {
        let rtt_us = now_us.saturating_sub(transmission.0);
        if ever_retransmitted && rtt_us < min_rtt_us.unwrap_or(u64::MAX) {
            return; // more likely the original than what was sent again
        }
        self.has_news = true;
        self.rtt_us = rtt_us;
        self.latest = self.latest.max(transmission);
    }

    /// Notes a DSACK after reordering was seen: the window was too short.
    pub fn note_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// Adapts the reordering window to DSACKs, once in a round trip (section 6.2, step 4). `delivered` is the
    /// number of segments delivered in all, and `prior_delivered` that number when the newest segment that an
    /// ACK delivers was sent.
    pub fn adapt_window(&mut self, prior_delivered: u32, delivered: u32) {
        if prior_delivered.wrapping_sub(self.adapted_at).cast_signed() < 0 {
            self.dsack_seen = false; // it is for what was sent before the window was adapted
        }
        if self.dsack_seen {
            self.steps = (self.steps + 1).min(STEPS_MAX);
            self.dsack_seen = false;
            self.adapted_at = delivered;
            self.persist = PERSIST_RECOVERIES;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Keeps the window for one recovery more, since a recovery turned out to be needless: another sign of
    /// reordering.
    pub fn keep_window(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST_RECOVERIES);
    }

    /// Notes the end of a recovery that was needed.
    pub fn recovery_ended(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// The time that is allowed for reordering beyond the round trip, microseconds: RACK.reo_wnd.
    pub fn reordering_window_us(&self, given: ReorderingWindow) -> u64 {
        if given.has_shortcut {
            return 0;
        }
        let quarter_us = given.min_rtt_us.unwrap_or(u32::MAX.into()) >> 2;
        (quarter_us * u64::from(self.steps)).min(given.srtt_us)
    }

    /// Whether anything was delivered since the last call, so that a look for losses is due.
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Makes the next ACK look again at what is in flight, since something no longer counts as lost.
    pub fn look_again(&mut self) {
        self.has_news = true;
    }

    /// Finds what is lost with this reordering window: what was sent long enough before the latest delivered
    /// segment (section 6.2, step 5).
    pub fn detect_loss(&self, board: &mut Scoreboard, now_us: u64, window_us: u64) -> Detected {
        let allowed_us = self.rtt_us + window_us;
        let mut wait_us = None;
        let lost = board.expired(self.latest, |sent| {
            let elapsed_us = now_us - sent.sent_us.min(now_us);
            if elapsed_us >= allowed_us {
                return true;
            }
            wait_us = wait_us.max(Some(allowed_us - elapsed_us));
            false
        });
        Detected { lost, wait_us }
    }

    /// Whether a segment was sent less than a round trip ago, so that it is not lost by a retransmission
    /// timeout (section 6.3).
    pub fn is_recent(&self, now_us: u64, sent_us: u64) -> bool {
        now_us.saturating_sub(sent_us) < self.rtt_us
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::{AtSending, Sent};
    use super::*;

    /// Ten segments of 100 bytes from byte 1 on, sent 10 ms apart, the first at 1 s.
    fn ten() -> Scoreboard {
        let mut board = Scoreboard::default();
        for n in 0..10 {
            board.push(Sent::new(1 + 100 * n, 100, sent_us(n), AtSending::default()));
        }
        board
    }

    fn sent_us(n: u64) -> u64 {
        1_000_000 + 10_000 * n
    }

    /// SACKs the n-th of them after a round trip of 100 ms.
    fn sack(rack: &mut Rack, board: &mut Scoreboard, n: u64) -> u64 {
        let now_us = sent_us(n) + 100_000;
        board.get_mut(n as usize).unwrap().sacked = true;
        rack.delivered(now_us, (sent_us(n), 101 + 100 * n), false, Some(100_000));
        now_us
    }

    fn window(min_rtt_us: u64, srtt_us: u64) -> ReorderingWindow {
        ReorderingWindow { has_shortcut: false, min_rtt_us: Some(min_rtt_us), srtt_us }
    }

    #[test]
    fn what_was_sent_a_window_before_the_latest_delivery_is_lost() {
        let (mut rack, mut board) = (Rack::default(), ten());
        let now_us = sack(&mut rack, &mut board, 4);
        assert_eq!(rack.rtt_us(), 100_000);
        // "Packet.xmit_ts + RACK.rtt + RACK.reo_wnd - now() <= 0": 25 ms before the fifth left 0 and 1.
        let found = rack.detect_loss(&mut board, now_us, 25_000);
        assert_eq!(found.lost, [0, 1]);
        // 2 was sent 20 ms before and 3 was sent 10 ms before: the timer runs for the last of them.
        assert_eq!(found.wait_us, Some(15_000));
        // When it goes off these are lost, too. What was sent after the latest delivery is not.
        let found = rack.detect_loss(&mut board, now_us + 15_000, 25_000);
        assert_eq!((found.lost, found.wait_us), (vec![2, 3], None));
    }

    #[test]
    fn without_a_window_all_that_was_sent_before_is_lost_at_once() {
        let (mut rack, mut board) = (Rack::default(), ten());
        let now_us = sack(&mut rack, &mut board, 2);
        let found = rack.detect_loss(&mut board, now_us, 0);
        assert_eq!((found.lost, found.wait_us), (vec![0, 1], None));
    }

    #[test]
    fn an_older_delivery_does_not_move_the_latest_back() {
        let (mut rack, mut board) = (Rack::default(), ten());
        sack(&mut rack, &mut board, 5);
        // The third arrives out of order: its round trip is the newest, the fifth stays the latest.
        board.get_mut(2).unwrap().sacked = true;
        rack.delivered(sent_us(5) + 120_000, (sent_us(2), 301), false, Some(100_000));
        assert_eq!(rack.rtt_us(), 150_000);
        let found = rack.detect_loss(&mut board, sent_us(5) + 120_000, 0);
        assert_eq!(found.lost, [0, 1], "150 ms have passed since they were sent");
        assert_eq!(found.wait_us, Some(sent_us(4) + 150_000 - sent_us(5) - 120_000));
    }

    #[test]
    fn an_ack_that_comes_too_soon_for_what_was_sent_again_is_for_the_original() {
        let mut rack = Rack::default();
        rack.delivered(1_050_000, (1_000_000, 101), true, Some(100_000));
        assert!(!rack.take_news(), "50 ms after it was sent again, on a path of 100 ms");
        assert_eq!(rack.rtt_us(), 0);
        rack.delivered(1_100_000, (1_000_000, 101), true, Some(100_000));
        assert!(rack.take_news() && !rack.take_news());
        assert_eq!(rack.rtt_us(), 100_000);
    }

    #[test]
    fn the_window_is_a_quarter_of_the_lowest_round_trip_for_each_step_and_at_most_srtt() {
        let mut rack = Rack::default();
        assert_eq!(rack.reordering_window_us(window(80_000, 100_000)), 20_000);
        let mut steps = |delivered: u32| {
            rack.note_dsack();
            rack.adapt_window(delivered, delivered);
            rack.reordering_window_us(window(80_000, 100_000))
        };
        assert_eq!(
            [10, 20, 30, 40, 50].map(&mut steps),
            [40_000, 60_000, 80_000, 100_000, 100_000]
        );
        let shortcut = ReorderingWindow { has_shortcut: true, ..window(80_000, 100_000) };
        assert_eq!(rack.reordering_window_us(shortcut), 0);
    }

    #[test]
    fn dsacks_widen_it_once_in_a_round_trip() {
        let mut rack = Rack::default();
        rack.note_dsack();
        rack.adapt_window(90, 100);
        // The next DSACK is for what was sent when 95 had been delivered, before the window was adapted.
        rack.note_dsack();
        rack.adapt_window(95, 110);
        assert_eq!(rack.reordering_window_us(window(80_000, u64::MAX)), 40_000);
        rack.note_dsack();
        rack.adapt_window(100, 120);
        assert_eq!(rack.reordering_window_us(window(80_000, u64::MAX)), 60_000);
    }

    #[test]
    fn it_is_a_quarter_again_after_sixteen_recoveries() {
        let mut rack = Rack::default();
        rack.note_dsack();
        rack.adapt_window(0, 10);
        for recovery in 1..=16 {
            rack.adapt_window(10, 10);
            assert_eq!(rack.reordering_window_us(window(80_000, u64::MAX)), 40_000, "{recovery}");
            rack.recovery_ended();
        }
        rack.adapt_window(10, 10);
        assert_eq!(rack.reordering_window_us(window(80_000, u64::MAX)), 20_000);
        // A recovery that was needless keeps a wider window for one recovery more.
        rack.note_dsack();
        rack.adapt_window(10, 20);
        (0..16).for_each(|_| rack.recovery_ended());
        rack.keep_window();
        rack.adapt_window(20, 20);
        assert_eq!(rack.reordering_window_us(window(80_000, u64::MAX)), 40_000);
    }

    #[test]
    fn a_timeout_spares_what_left_less_than_a_round_trip_ago() {
        let mut rack = Rack::default();
        rack.delivered(1_100_000, (1_000_000, 101), false, Some(100_000));
        assert!(rack.is_recent(2_000_000, 1_900_001));
        assert!(!rack.is_recent(2_000_000, 1_900_000));
    }
}
