//! Losses found by time on each ACK, beside those found by duplicates: Cubic+ (Fukuda 2019, section 4.2,
//! after draft-ietf-tcpm-rack-02). Deliberate differences: 1. it looks at ACKs that are dubious, since
//! after one that is only progress everything in flight was sent later than what was ACKed; 2. that
//! there is reordering is seen where an original arrives after it was sent again, by timestamp or by
//! being faster than the lowest RTT.

use kirikae_algorithms::CaState;

use super::Sender;
use super::scoreboard::Sent;
use crate::LossDetection;

/// RACK.reo_wnd until reordering was seen, microseconds.
const INITIAL_WINDOW_US: u64 = 1_000;

impl Sender {
    /// Whether losses are found by time as well as by duplicates.
    pub(super) fn expires_segments(&self) -> bool {
        self.profile.loss_detection == LossDetection::DuplicatesOrTime
    }

    /// A segment is ACKed: RACK.RTT, or reordering.
    pub(super) fn note_delivery(&mut self, sent: &Sent) {
        let rtt_us = self.now_us().saturating_sub(sent.sent_us);
        let early = sent.ever_retransmitted && rtt_us < self.min_rtt_us().unwrap_or(u64::MAX);
        if early || self.was_delivered_before(sent) {
            self.reordering_seen = true;
        } else {
            self.rack_delivered(sent);
        }
    }

    /// Whether it is in flight for too long: "timeout = Packet.xmit_ts + RACK.RTT + RACK.reo_wnd"
    fn is_expired(&self, sent: &Sent) -> bool {
        let window_us = match self.min_rtt_us() {
            Some(lowest_us) if self.reordering_seen => lowest_us / 4,
            _ => INITIAL_WINDOW_US,
        };
        let in_flight = !sent.sacked && (!sent.lost || sent.retransmitted);
        let timeout_us = sent.sent_us + self.rack.rtt_us() + window_us;
        in_flight && self.rack.rtt_us() > 0 && self.now_us() > timeout_us
    }

    /// Outside of recovery: what took too long is to be sent again.
    pub(super) fn mark_expired(&mut self) {
        for index in 0..self.board.len() {
            if self.board.get(index).is_some_and(|sent| self.is_expired(sent)) {
                self.mark_lost(index);
            }
        }
        if !self.profile.sack {
            self.limit_duplicates();
        }
    }

    /// In recovery: slow start follows where anything took too long.
    pub(super) fn expire_recovery(&mut self) {
        let expired = || (0..self.board.len()).filter_map(|index| self.board.get(index));
        if self.state() == CaState::Recovery && expired().any(|sent| self.is_expired(sent)) {
            self.enter_loss();
        }
    }
}
