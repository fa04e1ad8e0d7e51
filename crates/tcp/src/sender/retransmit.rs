//! Sends lost segments again.

use kirikae_algorithms::CaState;
use kirikae_path::Time;

use super::Sender;
use super::delivery_rate::at_sending;
use super::scoreboard::Sent;
use super::timers::Purpose;
use crate::{Segment, Timestamp};

impl Sender {
    /// Sends lost segments again, as far as the window allows.
    pub(super) fn retransmit_lost(&mut self, now: Time, out: &mut Vec<Segment>) {
        let train = self.train_segments();
        let mut rearm = false;
        loop {
            // A train leaves as a whole, so pacing is not asked again within it.
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
                    self.prr.count_sent(1);
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

    /// Whether anything may be left to send again; it is a quick look.
    fn may_retransmit(&self) -> bool {
        let fields = &self.socket.fields;
        // With FACK, segments are sent again that do not count as lost.
        fields.lost_out > fields.retrans_out || self.forward_acks()
    }

    /// Index of the next segment to send again.
    fn next_to_retransmit(&mut self) -> Option<usize> {
        self.board.next_to_retransmit().or_else(|| self.next_hole())
    }

    /// With FACK and nothing new to send, the next hole that does not count as lost yet.
    fn next_hole(&self) -> Option<usize> {
        let nothing_new = self.nxt == self.written || self.window_end() <= self.nxt;
        let may = self.forward_acks() && self.state() == CaState::Recovery && nothing_new;
        may.then(|| self.board.next_hole()).flatten()
    }

    /// Sends the last segment in flight again, for a probe; returns whether there was one. It does not count
    /// as lost, and so the probe does not count as a retransmission in flight.
    pub(super) fn retransmit_last(&mut self, now: Time, out: &mut Vec<Segment>) -> bool {
        match self.board.len() {
            0 => false,
            segments => self.send_again(now, segments - 1, out),
        }
    }

    /// Sends the lost segment at `index` again; returns whether the receiver's window allowed it.
    pub(super) fn retransmit(&mut self, now: Time, index: usize, out: &mut Vec<Segment>) -> bool {
        if !self.send_again(now, index, out) {
            return false;
        }
        let sent = self.board.get_mut(index).expect("it was sent");
        if !sent.retransmitted {
            sent.retransmitted = true;
            self.socket.fields.retrans_out += 1;
        }
        self.undo.sent_again(Timestamp::clock(now));
        true
    }

    /// Cuts the segment at `index` into smaller ones if segments have become smaller since it was sent (tcp_fragment).
    fn cut(&mut self, index: usize) {
        let more = self.board.split(index, self.mss);
        let Some(sent) = self.board.get(index).filter(|_| more > 0) else { return };
        let fields = &mut self.socket.fields;
        fields.packets_out += more;
        if sent.lost {
            fields.lost_out += more;
        }
        if sent.retransmitted {
            fields.retrans_out += more;
        }
    }

    /// Sends the segment at `index` again, or as much of it as a segment holds now; returns whether the receiver's
    /// window allowed it.
    fn send_again(&mut self, now: Time, index: usize, out: &mut Vec<Segment>) -> bool {
        self.cut(index);
        let Some(&Sent { seq, len, .. }) = self.board.get(index) else { return false };
        if seq + u64::from(len) > self.window_end() && seq != self.una {
            return false;
        }
        let sent_us = self.departs(now, len);
        let at_sending = at_sending(&mut self.socket, sent_us);
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
}
