//! Decides what counts as lost: by RACK, by the profile's other detection, or after a timeout.

use kirikae_algorithms::CaState;
use kirikae_path::Time;

use super::Sender;
use super::ack::Ack;
use super::rack::ReorderingWindow;
use super::scoreboard::Sent;
use super::timers::{Purpose, TIMEOUT_MIN_US};
use crate::{LossDetection, Segment};

impl Sender {
    /// Whether RACK finds losses, which needs SACK.
    pub(super) fn uses_rack(&self) -> bool {
        self.profile.loss_detection == LossDetection::Rack && self.profile.sack
    }

    /// Tells RACK of a segment that is delivered.
    pub(super) fn rack_delivered(&mut self, sent: &Sent) {
        let transmission = (sent.sent_us, sent.end());
        let (now_us, min_rtt_us) = (self.now_us(), self.min_rtt_us());
        self.rack.delivered(now_us, transmission, sent.ever_retransmitted, min_rtt_us);
    }

    /// Whether enough is known to be lost for recovery to begin.
    pub(super) fn time_to_recover(&self) -> bool {
        if self.uses_rack() {
            self.socket.fields.lost_out > 0
        } else {
            self.duplicates_tell_of_loss()
        }
    }

    /// Marks what is lost. Without RACK nothing is marked before recovery is entered.
    pub(super) fn identify_loss(&mut self, ack: &mut Ack, entering: bool) {
        if self.board.is_empty() {
            return;
        }
        let retransmitted = self.socket.fields.retrans_out;
        if self.uses_rack() {
            if self.rack_mark_lost() {
                ack.set_timer = false;
            }
        } else if entering || (self.state() == CaState::Recovery && self.profile.sack) {
            self.mark_lost_by_duplicates(entering);
        }
        ack.lost_retransmission |= retransmitted > self.socket.fields.retrans_out;
    }

    /// Looks for losses after an ACK; returns whether the reordering timer runs now.
    fn rack_mark_lost(&mut self) -> bool {
        if !self.rack.take_news() {
            return false;
        }
        match self.rack_detect_loss() {
            Some(wait_us) => {
                self.set_timer(Purpose::Reordering, wait_us + TIMEOUT_MIN_US);
                true
            }
            None => false,
        }
    }

    /// Marks what is lost by RACK. Returns the time until more may be, microseconds.
    fn rack_detect_loss(&mut self) -> Option<u64> {
        let window_us = self.reordering_window_us();
        let now_us = self.now_us();
        let detected = self.rack.detect_loss(&mut self.board, now_us, window_us);
        for index in detected.lost {
            self.mark_lost(index);
        }
        detected.wait_us
    }

    /// The time that reordering is given beyond the round trip, microseconds.
    fn reordering_window_us(&self) -> u64 {
        let has_dupthresh = self.socket.fields.sacked_out >= self.reordering.segments();
        self.rack.reordering_window_us(ReorderingWindow {
            has_shortcut: self.profile.rack_shortcut
                && !self.reordering.is_seen()
                && (self.state() >= CaState::Recovery || has_dupthresh),
            min_rtt_us: self.min_rtt_us(),
            srtt_us: self.srtt_us(),
        })
    }

    /// The reordering timer goes off. The timer keeps this purpose until the next is set, so that the timeout
    /// runs from when the first segment was sent.
    pub(super) fn reordering_timeout(&mut self, now: Time, out: &mut Vec<Segment>) {
        let (in_flight, lost) = (self.packets_in_flight(), self.socket.fields.lost);
        self.rack_detect_loss();
        if self.packets_in_flight() != in_flight {
            if self.state() != CaState::Recovery {
                self.enter_recovery(false);
                let newly_lost = self.socket.fields.lost - lost;
                if !self.socket.algorithm().controls_alone() {
                    self.reduce_window(1, newly_lost, &Ack::default());
                }
            }
            self.retransmit_lost(now, out);
        }
        if self.timers.purpose() != Some(Purpose::Retransmission) {
            self.rearm_retransmission();
        }
    }

    /// Marks the segment at `index` of the scoreboard as lost; its retransmission may be lost as well.
    pub(super) fn mark_lost(&mut self, index: usize) {
        let fields = &mut self.socket.fields;
        let Some(sent) = self.board.get_mut(index).filter(|sent| !sent.sacked) else { return };
        if sent.lost {
            if !sent.retransmitted {
                return;
            }
            sent.retransmitted = false;
            fields.retrans_out -= 1;
        } else {
            sent.lost = true;
            fields.lost_out += 1;
        }
        fields.lost = fields.lost.wrapping_add(1);
        self.board.marked_lost(index);
    }

    /// After a timeout, marks everything that is not SACKed, except what is too recent for RACK.
    pub(super) fn mark_all_lost(&mut self) {
        let reneged = self.board.first().is_some_and(|first| first.sacked);
        if reneged || !self.profile.sack {
            self.board.clear_sacked();
            self.socket.fields.sacked_out = 0;
        }
        let now_us = self.now_us();
        let mut index = 0;
        while let Some(sent_us) = self.board.get(index).map(|sent| sent.sent_us) {
            let recent =
                !reneged && index > 0 && self.uses_rack() && self.rack.is_recent(now_us, sent_us);
            if !recent {
                self.mark_lost(index);
            }
            index += 1;
        }
    }

    /// Removes all marks of loss.
    pub(super) fn unmark_lost(&mut self) {
        self.board.unmark_lost();
        self.socket.fields.lost_out = 0;
    }

    /// Whether anything was sent again whose fate is not known.
    pub(super) fn any_retransmission(&self) -> bool {
        self.socket.fields.retrans_out > 0
            || self.board.first().is_some_and(|first| first.ever_retransmitted)
    }
}
