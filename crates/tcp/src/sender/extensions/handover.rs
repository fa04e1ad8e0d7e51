//! The link under the mobile host has come back (Tsukamoto, Fukuda, Hori, Oie 2003, section 3).

use kirikae_path::Time;

use crate::sender::Sender;
use crate::sender::timers::Purpose;
use crate::{Handover, Segment};

/// The least ssthresh that an estimate sets, segments.
const LEAST_SSTHRESH: u64 = 2;

/// A segment that is watched: where it ends, and when it was sent, microseconds.
#[derive(Clone, Copy, Debug)]
struct Watched {
    end: u64,
    sent_us: u64,
}

/// Two segments that left together: where they end, and when the ACK of the first came.
#[derive(Clone, Copy, Debug)]
struct Pair {
    former: u64,
    latter: u64,
    acked_us: Option<u64>,
}

/// The bandwidth-delay product of the new link, from the first segments sent over it (Hoe 1996),
/// measured again as long as slow start lasts (Aron, Druschel 1998).
#[derive(Clone, Copy, Debug)]
pub(in crate::sender) struct PathEstimate {
    first: Watched,
    /// How long the first segment took, microseconds.
    rtt_us: Option<u64>,
    pair: Option<Pair>,
}

impl PathEstimate {
    /// The estimate begins with the first segment over the new link, which ends at `end` and was sent at
    /// `sent_us`, microseconds.
    fn new(end: u64, sent_us: u64) -> PathEstimate {
        PathEstimate { first: Watched { end, sent_us }, rtt_us: None, pair: None }
    }

    /// Processes an ACK up to `acked_to`. Returns the new ssthresh, segments, if it gives one:
    /// "bandwidth-delay product = RTT x packet size / time between the ACKs", "ssthresh = bandwidth-delay
    /// product / packet size".
    fn on_ack(&mut self, now_us: u64, acked_to: u64) -> Option<u32> {
        if acked_to >= self.first.end {
            self.rtt_us.get_or_insert(now_us - self.first.sent_us);
        }
        let (rtt_us, pair) = (self.rtt_us?, self.pair.as_mut()?);
        if acked_to < pair.former {
            return None;
        }
        match pair.acked_us {
            None if acked_to == pair.former => {
                pair.acked_us = Some(now_us);
                None
            }
            Some(before_us) if acked_to == pair.latter && now_us > before_us => {
                self.pair = None;
                Some((rtt_us / (now_us - before_us)).max(LEAST_SSTHRESH) as u32)
            }
            _ => {
                self.pair = None; // they were ACKed together, or with others
                None
            }
        }
    }

    /// Notes that segments with these ends have just left; two together are a pair.
    fn note_sent(&mut self, mut ends: impl Iterator<Item = u64>) {
        if self.pair.is_none()
            && self.rtt_us.is_some()
            && let (Some(former), Some(latter)) = (ends.next(), ends.next())
        {
            self.pair = Some(Pair { former, latter, acked_us: None });
        }
    }
}

impl Sender {
    /// The link is back, and what was in flight is lost with the old one.
    pub fn link_returned(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.set_clock(now);
        let restarts = matches!(
            self.profile.handover,
            Handover::ImmediateExpiration | Handover::BandwidthAware
        );
        if !restarts || self.board.is_empty() {
            return;
        }
        self.rtt.reset_back_off(self.rto_max_us());
        // Everything is known to be lost, however recently it was sent, and so this is never undone.
        (0..self.board.len()).for_each(|index| self.mark_lost(index));
        self.enter_loss();
        self.frto.give_up();
        self.undo.give_up();
        self.retransmit(now, 0, out);
        self.set_timer(Purpose::Retransmission, self.rto_us());
        self.path_estimate = None;
        if self.profile.handover == Handover::BandwidthAware
            && let Some(first) = self.board.first()
        {
            self.path_estimate = Some(Box::new(PathEstimate::new(first.end(), first.sent_us)));
        }
    }

    /// An ACK up to `acked_to` may tell of the new link; it does not when slow start is over.
    pub(in crate::sender) fn estimate_path(&mut self, acked_to: u64) {
        let now_us = self.now_us();
        let Some(estimate) = &mut self.path_estimate else { return };
        if let Some(ssthresh) = estimate.on_ack(now_us, acked_to) {
            self.socket.fields.snd_ssthresh = ssthresh;
            if self.cwnd() >= ssthresh {
                self.path_estimate = None;
            }
        }
    }

    /// Notes that these segments have just left.
    pub fn note_pair(&mut self, left: &[Segment]) {
        if let Some(estimate) = &mut self.path_estimate {
            let data = left.iter().filter(|segment| segment.len > 0);
            estimate.note_sent(data.map(Segment::end));
        }
    }

    /// Whether the other end has closed its window because its link is about to go.
    pub(in crate::sender) fn is_frozen(&self) -> bool {
        self.profile.handover == Handover::Freeze && self.window.bytes() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spacing_of_a_pair_in_a_round_trip_is_the_threshold() {
        let mut path = PathEstimate::new(1_001, 5_000);
        path.note_sent([2_001, 3_001].into_iter());
        assert_eq!(path.on_ack(105_000, 1_001), None, "the round trip is 100 ms");
        path.note_sent([4_001].into_iter());
        path.note_sent([5_001, 6_001, 7_001].into_iter());
        assert_eq!(path.on_ack(200_000, 4_001), None);
        assert_eq!(path.on_ack(210_000, 5_001), None);
        assert_eq!(path.on_ack(215_000, 6_001), Some(20), "a segment every 5 ms");
        assert_eq!(path.on_ack(220_000, 7_001), None, "until another pair has left");
    }

    #[test]
    fn a_pair_that_is_acked_together_tells_nothing() {
        for acks in [[6_001, 7_001], [5_001, 7_001]] {
            let mut path = PathEstimate::new(1_001, 0);
            path.on_ack(100_000, 1_001);
            path.note_sent([5_001, 6_001].into_iter());
            let found = acks.map(|acked_to| path.on_ack(200_000 + acked_to, acked_to));
            assert_eq!(found, [None, None]);
        }
    }

    #[test]
    fn a_slow_link_leaves_two_segments() {
        let mut path = PathEstimate::new(1_001, 0);
        path.on_ack(100_000, 1_001);
        path.note_sent([2_001, 3_001].into_iter());
        path.on_ack(200_000, 2_001);
        assert_eq!(path.on_ack(900_000, 3_001), Some(2));
    }
}
