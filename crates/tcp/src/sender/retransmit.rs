//! What is held for lost, and sending it again.

use kirikae_algorithms::CaState;
use kirikae_path::Time;

use super::Sender;
use super::scoreboard::Sent;
use super::timer::Purpose;
use crate::{Segment, Timestamp};

impl Sender {
    /// The segment at `index` of the scoreboard is held for lost; so may what was sent again of it.
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

    /// A timeout: all that is not SACKed is lost, but for what RACK knows to be too recent.
    pub(super) fn mark_all_lost(&mut self) {
        let reneged = self.board.first().is_some_and(|first| first.sacked);
        if reneged || !self.profile.sack {
            self.board.clear_sacked();
            self.socket.fields.sacked_out = 0;
        }
        let mut index = 0;
        while let Some(sent) = self.board.get_mut(index).map(|sent| *sent) {
            let recent =
                !reneged && index > 0 && self.uses_rack() && self.rack_recently_sent(&sent);
            if !recent {
                self.mark_lost(index);
            }
            index += 1;
        }
    }

    pub(super) fn unmark_lost(&mut self) {
        self.board.unmark_lost();
        self.socket.fields.lost_out = 0;
    }

    /// Whether anything was sent again of which it is not known what became of it.
    pub(super) fn any_retransmission(&self) -> bool {
        self.socket.fields.retrans_out > 0
            || self.board.first().is_some_and(|first| first.ever_retransmitted)
    }

    /// Sends again what is lost, as far as the window lets it.
    pub(super) fn retransmit_lost(&mut self, now: Time, out: &mut Vec<Segment>) {
        let train = self.train_segments();
        let mut rearm = false;
        loop {
            // As much as goes in one train leaves without asking pacing again.
            if !self.may_retransmit() || self.pacing_holds() {
                break;
            }
            let mut left = train;
            while left > 0
                && self.packets_in_flight() < self.cwnd()
                && let Some(index) = self.next_to_retransmit()
                && self.retransmit(now, index, out)
            {
                if self.in_reduction() {
                    self.reduction.count_sent(1);
                }
                rearm |= index == 0 && self.timers.purpose() != Some(Purpose::Reordering);
                left -= 1;
            }
            if left > 0 {
                break;
            }
        }
        if rearm {
            self.set_timer(Purpose::Retransmission, self.rto_us());
        }
    }

    /// Whether anything may be left to send again, at little cost.
    fn may_retransmit(&self) -> bool {
        let fields = &self.socket.fields;
        // With FACK what is sent again need not be held for lost.
        fields.lost_out > fields.retrans_out || self.forward_acks()
    }

    fn next_to_retransmit(&mut self) -> Option<usize> {
        self.board.next_to_retransmit().or_else(|| self.next_hole())
    }

    /// With FACK and nothing new to send: a hole that is not held for lost yet.
    fn next_hole(&self) -> Option<usize> {
        let nothing_new = self.nxt == self.written || self.window_end() <= self.nxt;
        let may = self.forward_acks() && self.state() == CaState::Recovery && nothing_new;
        may.then(|| self.board.next_hole()).flatten()
    }

    /// The last segment in flight, for a probe; whether there was one. It is not held for lost, and
    /// so the probe counts as no retransmission in flight.
    pub(super) fn retransmit_last(&mut self, now: Time, out: &mut Vec<Segment>) -> bool {
        match self.board.len() {
            0 => false,
            segments => self.send_again(now, segments - 1, out),
        }
    }

    /// Sends the lost segment at `index` again; whether the receiver's window let it.
    pub(super) fn retransmit(&mut self, now: Time, index: usize, out: &mut Vec<Segment>) -> bool {
        if !self.send_again(now, index, out) {
            return false;
        }
        let sent = self.board.get_mut(index).expect("it was sent");
        if !sent.retransmitted {
            sent.retransmitted = true;
            self.socket.fields.retrans_out += 1;
        }
        self.undo.retransmitted_at.get_or_insert(Timestamp::clock(now));
        *self.undo.outstanding.get_or_insert(0) += 1;
        true
    }

    fn send_again(&mut self, now: Time, index: usize, out: &mut Vec<Segment>) -> bool {
        let Some(&Sent { seq, len, .. }) = self.board.get(index) else { return false };
        if seq + u64::from(len) > self.window_end() && seq != self.una {
            return false;
        }
        let sent_us = self.departs(now, len);
        let at_sending = self.at_sending(sent_us);
        let fields = &mut self.socket.fields;
        fields.bytes_retrans += u64::from(len);
        self.retransmissions += 1;
        let sent = self.board.get_mut(index).expect("it was there");
        sent.ever_retransmitted = true;
        sent.sent_us = sent_us;
        sent.at_sending = at_sending;
        self.board.sent_again(index, self.nxt);
        self.tell_retransmission(seq);
        out.push(Segment { seq, len, ..Segment::default() });
        true
    }

    /// The retransmission timer has gone off.
    pub(super) fn retransmission_timeout(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.clear_timer();
        if self.board.is_empty() {
            return;
        }
        if self.is_frozen() {
            return self.set_timer(Purpose::Retransmission, self.rto_us());
        }
        self.tell_timeout();
        self.enter_loss();
        self.timeouts += 1;
        self.retransmit(now, 0, out);
        self.back_off();
        self.set_timer(Purpose::Retransmission, self.rto_us());
    }
}
