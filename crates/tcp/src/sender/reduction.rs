//! Reduces the window to ssthresh after a loss or a mark: by PRR, by rate halving (Hoe 1995) as Linux did
//! before 3.2, or at once (RFC 6582).

use kirikae_algorithms::{CaEvent, CaState};

use super::Sender;
use super::ack::Ack;
use super::prr::PrrAck;
use crate::Reduction;

impl Sender {
    /// Begins a reduction: for a loss, a mark, or a probe that repaired a loss.
    pub(super) fn begin_reduction(&mut self) {
        self.high_seq = self.nxt;
        self.probe.give_up();
        let fields = &mut self.socket.fields;
        fields.snd_cwnd_cnt = 0;
        fields.prior_cwnd = fields.snd_cwnd;
        self.prr.begin(fields.snd_cwnd);
        let ssthresh = self.socket.ssthresh();
        self.socket.fields.snd_ssthresh = ssthresh;
        self.owe_cwr();
    }

    /// With ECN, makes the next new segment tell the receiver that the window was reduced.
    pub(super) fn owe_cwr(&mut self) {
        self.ecn.owes_cwr = self.ecn.capable;
    }

    /// Ends the reduction: the window becomes ssthresh, unless the reduction was undone.
    pub(super) fn end_reduction(&mut self) {
        if self.socket.algorithm().controls_alone() {
            return;
        }
        if let Some(ssthresh) = self.socket.finite_ssthresh()
            && (self.state() == CaState::Cwr || self.undo.is_pending())
        {
            // Rate halving may have gone below it; then slow start follows.
            let cwnd = match self.profile.reduction {
                Reduction::Proportional => ssthresh,
                Reduction::RateHalving | Reduction::AtOnce => ssthresh.min(self.cwnd()),
            };
            self.set_cwnd(cwnd);
            self.usage.window_changed(self.now_us());
        }
        self.socket.cwnd_event(CaEvent::CompleteCwr);
    }

    /// In doubt, limits the window to what is in flight and a short train.
    pub(super) fn moderate_window(&mut self) {
        if self.profile.moderate_window {
            let most = self.packets_in_flight() + self.reordering.segments();
            self.set_cwnd(self.cwnd().min(most));
        }
    }

    /// Sets the window after an ACK during a reduction, which delivers so many segments and finds so many
    /// lost.
    pub(super) fn reduce_window(&mut self, delivered: u32, newly_lost: u32, ack: &Ack) {
        if delivered == 0 || self.socket.fields.prior_cwnd == 0 {
            return;
        }
        match self.profile.reduction {
            Reduction::Proportional => {
                let cwnd = self.prr.on_ack(PrrAck {
                    delivered,
                    in_flight: self.packets_in_flight(),
                    ssthresh: self.socket.fields.snd_ssthresh,
                    is_progress: ack.una_advanced && newly_lost == 0,
                });
                self.set_cwnd(cwnd);
            }
            Reduction::RateHalving => self.halve_rate(ack),
            Reduction::AtOnce => self.reduce_at_once(ack),
        }
    }

    /// The window is ssthresh. The first loss, and the next hole after an ACK that makes progress, are sent
    /// again however much is in flight (RFC 6582, section 3.2, steps 3 and 5).
    fn reduce_at_once(&mut self, ack: &Ack) {
        let fields = &self.socket.fields;
        let (ssthresh, left) = (fields.snd_ssthresh, fields.lost_out > fields.retrans_out);
        let owed = left && (self.prr.has_sent_nothing() || ack.una_advanced);
        let least = if owed { self.packets_in_flight() + 1 } else { 0 };
        self.set_cwnd(ssthresh.max(least));
    }

    /// Takes one segment off the window for every second ACK, down to ssthresh. Nothing leaves except what
    /// ACKs allow.
    fn halve_rate(&mut self, ack: &Ack) {
        let progress = ack.una_advanced || ack.data_acked || ack.data_sacked || ack.dsack;
        if !(progress || (!self.profile.sack && !ack.is_not_duplicate())) {
            return;
        }
        let ssthresh = self.socket.fields.snd_ssthresh;
        let count = self.socket.fields.snd_cwnd_cnt + 1;
        self.socket.fields.snd_cwnd_cnt = count & 1;
        let mut cwnd = self.cwnd();
        if cwnd > ssthresh {
            cwnd -= count >> 1;
        }
        self.set_cwnd(cwnd.min(self.packets_in_flight() + 1));
        self.usage.window_changed(self.now_us());
    }
}
