//! Finds losses by time on each ACK, besides those found by duplicates: Cubic+ (Fukuda 2019, section 4.2,
//! after draft-ietf-tcpm-rack-02). Deliberate differences: 1. it looks only at dubious ACKs, since after one
//! that is only progress everything in flight was sent later than what was ACKed; 2. reordering is seen when
//! an original arrives after it was sent again, which the timestamp shows, or an RTT below the lowest one.

use kirikae_algorithms::CaState;

use crate::LossDetection;
use crate::sender::Sender;
use crate::sender::ack::was_delivered_before;
use crate::sender::scoreboard::Sent;

/// RACK.reo_wnd until reordering was seen, microseconds.
const INITIAL_WINDOW_US: u64 = 1_000;

/// Tells whether a segment has been in flight for too long. Times are in microseconds.
#[derive(Clone, Copy, Debug)]
struct Expiry {
    now_us: u64,
    /// RACK.RTT; 0 before anything was delivered, when nothing expires.
    rtt_us: u64,
    /// RACK.reo_wnd
    window_us: u64,
}

impl Expiry {
    /// "timeout = Packet.xmit_ts + RACK.RTT + RACK.reo_wnd"
    fn is_expired(&self, sent: &Sent) -> bool {
        let in_flight = !sent.sacked && (!sent.lost || sent.retransmitted);
        let timeout_us = sent.sent_us + self.rtt_us + self.window_us;
        in_flight && self.rtt_us > 0 && self.now_us > timeout_us
    }
}

impl Sender {
    /// Whether losses are found by time as well as by duplicates.
    pub(in crate::sender) fn expires_segments(&self) -> bool {
        self.profile.loss_detection == LossDetection::DuplicatesOrTime
    }

    /// Notes a segment that is ACKed: it updates RACK.RTT, or shows reordering. `echo_ms` is the timestamp
    /// that the ACK echoes.
    pub(in crate::sender) fn note_delivery(&mut self, sent: &Sent, echo_ms: Option<u32>) {
        let rtt_us = self.now_us().saturating_sub(sent.sent_us);
        let early = sent.ever_retransmitted && rtt_us < self.min_rtt_us().unwrap_or(u64::MAX);
        if early || was_delivered_before(sent, echo_ms) {
            self.reordering.note_any();
        } else {
            self.rack_delivered(sent);
        }
    }

    /// When a segment expires now. If reordering was seen, a quarter of the lowest RTT is allowed for it.
    fn expiry(&self) -> Expiry {
        let window_us = match self.min_rtt_us() {
            Some(lowest_us) if self.reordering.is_seen() => lowest_us / 4,
            _ => INITIAL_WINDOW_US,
        };
        Expiry { now_us: self.now_us(), rtt_us: self.rack.rtt_us(), window_us }
    }

    /// Outside of recovery, marks what took too long, so that it is sent again.
    pub(in crate::sender) fn mark_expired(&mut self) {
        let expiry = self.expiry();
        for index in 0..self.board.len() {
            if self.board.get(index).is_some_and(|sent| expiry.is_expired(sent)) {
                self.mark_lost(index);
            }
        }
        if !self.profile.sack {
            self.limit_duplicates();
        }
    }

    /// In recovery, begins slow start if anything took too long.
    pub(in crate::sender) fn expire_recovery(&mut self) {
        if self.state() != CaState::Recovery {
            return;
        }
        let expiry = self.expiry();
        let mut in_flight = (0..self.board.len()).filter_map(|index| self.board.get(index));
        if in_flight.any(|sent| expiry.is_expired(sent)) {
            self.enter_loss();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::scoreboard::AtSending;

    #[test]
    fn what_is_in_flight_for_longer_than_round_trip_and_window_has_expired() {
        let mut sent = Sent::new(1, 1_000, 500_000, AtSending::default());
        let at = |now_us| Expiry { now_us, rtt_us: 100_000, window_us: 25_000 };
        assert!(!at(625_000).is_expired(&sent) && at(625_001).is_expired(&sent));
        assert!(!Expiry { rtt_us: 0, ..at(900_000) }.is_expired(&sent), "no round trip is known");
        sent.lost = true;
        assert!(!at(900_000).is_expired(&sent), "it is held for lost already");
        sent.retransmitted = true;
        assert!(at(900_000).is_expired(&sent), "what was sent again may be lost, too");
        sent.sacked = true;
        assert!(!at(900_000).is_expired(&sent));
    }
}
