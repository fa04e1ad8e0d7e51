//! The retransmission timeout, the state Loss, and its end (RFC 5681, section 3.1; RFC 5682).

use kirikae_algorithms::{CaEvent, CaState};
use kirikae_path::Time;

use super::Sender;
use super::ack::{Ack, Retransmit};
use super::frto::{FrtoAck, FrtoVerdict};
use super::timers::Purpose;
use crate::{Segment, Timestamp};

/// The least time until the timeout if SACKed data is gone, microseconds.
const RENEGED_US: u64 = 10_000;

impl Sender {
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
        self.blame_size(now);
        self.enter_loss();
        self.timeouts += 1;
        self.retransmit(now, 0, out);
        self.rtt.back_off(self.rto_max_us());
        self.set_timer(Purpose::Retransmission, self.rto_us());
    }

    /// Sends smaller segments from now on if those in flight may be too large for the path (tcp_mtu_probing).
    fn blame_size(&mut self, now: Time) {
        let Some(since_ms) = self.undo.retransmitted_at_ms().filter(|_| self.timeouts > 0) else {
            return;
        };
        let in_vain_ms = Timestamp::clock(now).wrapping_sub(since_ms);
        if let Some(mss) = self.mtu_probing.timed_out(in_vain_ms, self.mss) {
            self.mss = mss;
            self.socket.fields.mss_cache = mss;
        }
    }

    /// Marks everything in flight as lost; slow start follows.
    pub(super) fn enter_loss(&mut self) {
        let new = self.state() < CaState::Recovery;
        self.mark_all_lost();
        if self.state() <= CaState::Disorder
            || self.una >= self.high_seq
            || (self.state() == CaState::Loss && self.timeouts == 0)
            || !self.profile.hold_ssthresh
        {
            self.undo.remember_ssthresh(self.current_ssthresh());
            let fields = &mut self.socket.fields;
            fields.prior_cwnd = fields.snd_cwnd;
            let ssthresh = self.socket.ssthresh();
            self.socket.fields.snd_ssthresh = ssthresh;
            self.socket.cwnd_event(CaEvent::Loss);
            self.begin_undo();
        }
        self.set_cwnd(self.packets_in_flight() + 1);
        self.socket.fields.snd_cwnd_cnt = 0;
        self.usage.window_changed(self.now_us());
        if self.state() <= CaState::Disorder
            && self.socket.fields.sacked_out >= self.profile.reordering
        {
            // Waiting for that much reordering has cost a timeout.
            self.reordering.limit(self.profile.reordering);
        }
        self.set_state(CaState::Loss);
        self.high_seq = self.nxt;
        self.probe.give_up();
        self.owe_cwr();
        self.frto.begin(self.profile.frto && (new || self.timeouts > 0));
    }

    /// Processes an ACK in Loss: finds whether the timeout was spurious and whether it is over, and returns
    /// what to send.
    pub(super) fn process_loss(&mut self, ack: &Ack) -> Retransmit {
        let recovered = self.una >= self.high_seq;
        if ack.una_advanced && self.try_undo_loss(false, ack) {
            return Retransmit::Nothing;
        }
        let verdict = self.frto.on_ack(FrtoAck {
            original_delivered: ack.original_delivered,
            new_data_sent: self.nxt > self.high_seq,
            advances_in_part: ack.una_advanced && !recovered,
            is_duplicate: ack.data_sacked || ack.is_duplicate(),
            may_send_new_data: self.nxt < self.written && self.window_end() > self.nxt,
        });
        match verdict {
            FrtoVerdict::Spurious => {
                self.try_undo_loss(true, ack);
                return Retransmit::Nothing;
            }
            FrtoVerdict::SendNewData => return Retransmit::New,
            FrtoVerdict::Conventional => {}
        }
        if recovered {
            self.try_undo_recovery(ack);
            return Retransmit::Nothing;
        }
        if !self.profile.sack {
            if self.nxt > self.high_seq && ack.is_duplicate() {
                self.add_duplicate();
            } else if ack.una_advanced {
                self.socket.fields.sacked_out = 0;
            }
        }
        Retransmit::Lost
    }

    /// Notices that the receiver has discarded what it had reported (RFC 2018, section 8), and sets a near
    /// timeout.
    pub(super) fn check_reneging(&mut self, ack: &mut Ack) -> bool {
        let reneged = ack.una_advanced && self.board.first().is_some_and(|first| first.sacked);
        if reneged {
            self.set_timer(Purpose::Retransmission, (self.srtt_us() / 2).max(RENEGED_US));
            ack.set_timer = false;
        }
        reneged
    }
}
