//! The states of congestion control, and how the window comes down in them: proportional rate
//! reduction (RFC 6937), rate halving, or at once.

use kirikae_algorithms::{CaEvent, CaState};

use super::Sender;
use super::ack::{Ack, Retransmit};
use crate::Reduction as Kind;

/// A reduction under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// Segments delivered and sent since it began: prr_delivered and prr_out.
    delivered: u32,
    sent: u32,
}

impl Reduction {
    pub fn count_sent(&mut self, segments: u32) {
        self.sent += segments;
    }
}

impl Sender {
    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.state(), CaState::Cwr | CaState::Recovery)
    }

    /// A reduction begins: at a loss, a mark, or a probe that repaired a loss.
    pub(super) fn begin_reduction(&mut self) {
        self.high_seq = self.nxt;
        self.probe.end_seq = None;
        self.reduction = Reduction::default();
        let fields = &mut self.socket.fields;
        fields.snd_cwnd_cnt = 0;
        fields.prior_cwnd = fields.snd_cwnd;
        let ssthresh = self.socket.ssthresh();
        self.socket.fields.snd_ssthresh = ssthresh;
        self.owe_cwr();
    }

    pub(super) fn owe_cwr(&mut self) {
        self.ecn.owes_cwr = self.ecn.capable;
    }

    /// It ends: the window is ssthresh, unless it was undone.
    pub(super) fn end_reduction(&mut self) {
        if self.socket.algorithm().controls_alone() {
            return;
        }
        if let Some(ssthresh) = self.socket.finite_ssthresh()
            && (self.state() == CaState::Cwr || self.undo.marker.is_some())
        {
            // Rate halving may have gone below it, from where slow start follows.
            let cwnd = match self.profile.reduction {
                Kind::Proportional => ssthresh,
                Kind::RateHalving | Kind::AtOnce => ssthresh.min(self.cwnd()),
            };
            self.set_cwnd(cwnd);
            self.usage.stamp_us = self.now_us();
        }
        self.socket.cwnd_event(CaEvent::CompleteCwr);
    }

    /// In doubt no more than a short train may follow what is in flight.
    fn moderate_window(&mut self) {
        if self.profile.moderate_window {
            self.set_cwnd(self.cwnd().min(self.packets_in_flight() + self.reordering));
        }
    }

    /// The window after an ACK during a reduction.
    pub(super) fn reduce_window(&mut self, delivered: u32, newly_lost: u32, ack: &Ack) {
        if delivered == 0 || self.socket.fields.prior_cwnd == 0 {
            return;
        }
        match self.profile.reduction {
            Kind::Proportional => self.reduce_proportionally(delivered, newly_lost, ack),
            Kind::RateHalving => self.halve_rate(ack),
            Kind::AtOnce => self.reduce_at_once(ack),
        }
    }

    /// RFC 6937, section 3, with the slow start bound where ACKs make progress without new losses,
    /// and the conservative one where they do not.
    fn reduce_proportionally(&mut self, delivered: u32, newly_lost: u32, ack: &Ack) {
        let in_flight = self.packets_in_flight();
        let fields = &self.socket.fields;
        let (ssthresh, prior_cwnd) = (fields.snd_ssthresh, fields.prior_cwnd);
        self.reduction.delivered += delivered;
        let Reduction { delivered: all_delivered, sent } = self.reduction;
        let mut send = if in_flight > ssthresh {
            // "CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out"
            let due = (u64::from(ssthresh) * u64::from(all_delivered)).div_ceil(prior_cwnd.into());
            due.saturating_sub(sent.into()) as u32
        } else {
            let slow_start = u32::from(ack.una_advanced && newly_lost == 0);
            let limit = all_delivered.saturating_sub(sent).max(delivered) + slow_start;
            limit.min(ssthresh - in_flight)
        };
        // What is found lost first is sent again at once, however much is in flight.
        send = send.max(u32::from(sent == 0));
        self.set_cwnd(in_flight + send);
    }

    /// The window is ssthresh; what is found lost first, and with an ACK that makes progress, is sent
    /// again however much is in flight (RFC 6582, section 3.2, steps 3 and 5).
    fn reduce_at_once(&mut self, ack: &Ack) {
        let fields = &self.socket.fields;
        let (ssthresh, left) = (fields.snd_ssthresh, fields.lost_out > fields.retrans_out);
        let owed = left && (self.reduction.sent == 0 || ack.una_advanced);
        let least = if owed { self.packets_in_flight() + 1 } else { 0 };
        self.set_cwnd(ssthresh.max(least));
    }

    /// One segment less for every second ACK, down to ssthresh; nothing else leaves than ACKs let.
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
        self.usage.stamp_us = self.now_us();
    }

    /// A mark (ECN), without loss.
    pub(super) fn enter_cwr(&mut self) {
        self.undo.prior_ssthresh = 0;
        if self.state() < CaState::Cwr {
            self.undo.marker = None;
            self.begin_reduction();
            self.set_state(CaState::Cwr);
        }
    }

    /// A loss is found.
    pub(super) fn enter_recovery(&mut self, marked: bool) {
        if !self.any_retransmission() {
            self.undo.retransmitted_at = None;
        }
        self.undo.prior_ssthresh = 0;
        self.begin_undo();
        if !self.in_reduction() {
            if !marked {
                self.undo.prior_ssthresh = self.current_ssthresh();
            }
            self.begin_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    /// Open, or Disorder where something is SACKed, lost or sent again.
    pub(super) fn try_keep_open(&mut self) {
        let fields = &self.socket.fields;
        let undoable = self.profile.moderate_window && self.undo.marker.is_some();
        let disorder =
            fields.sacked_out + fields.lost_out > 0 || self.any_retransmission() || undoable;
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.state() != state {
            self.set_state(state);
            self.high_seq = self.nxt;
        }
    }

    fn try_to_open(&mut self, ack: &Ack) {
        if !self.any_retransmission() {
            self.undo.retransmitted_at = None;
        }
        if ack.ece {
            self.enter_cwr();
        }
        if self.state() != CaState::Cwr {
            self.try_keep_open();
            self.moderate_window();
        }
    }

    /// An ACK that is not just progress: which state follows, and what is to be sent again.
    pub(super) fn alert(&mut self, prior_una: u64, ack: &mut Ack) -> Retransmit {
        if ack.ece {
            self.undo.prior_ssthresh = 0;
        }
        if self.check_reneging(ack) {
            return Retransmit::Nothing;
        }
        if self.state() == CaState::Open {
            if self.socket.fields.retrans_out == 0 {
                self.undo.retransmitted_at = None;
            }
        } else if self.una >= self.high_seq && self.state_ends() {
            return Retransmit::Nothing;
        }
        let news = ack.una_advanced || ack.is_not_duplicate() || ack.dsack;
        let duplicate = !(news || ack.old);
        match self.state() {
            CaState::Recovery => {
                if !ack.una_advanced {
                    self.count_duplicate(duplicate);
                } else if self.try_undo_partial(prior_una) {
                    return Retransmit::Nothing;
                } else if !self.profile.sack {
                    self.mark_next_hole_lost();
                }
                if self.try_undo_dsack() {
                    self.try_to_open(ack);
                }
                self.identify_loss(ack, false);
                if self.state() != CaState::Recovery {
                    if !self.time_to_recover() {
                        return Retransmit::Nothing;
                    }
                    self.enter_recovery(ack.ece);
                }
                if self.expires_segments() {
                    self.expire_recovery();
                }
            }
            CaState::Loss => {
                let next = self.process_loss(ack, duplicate);
                self.identify_loss(ack, false);
                if !(self.state() == CaState::Open || ack.lost_retransmission) {
                    self.moderate_window();
                    return next;
                }
                // The window was restored, or what was sent again was lost again.
                if !self.time_to_recover() {
                    self.try_to_open(ack);
                    return next;
                }
                self.enter_recovery(ack.ece);
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                if !self.profile.sack && ack.una_advanced {
                    self.socket.fields.sacked_out = 0;
                }
                self.count_duplicate(duplicate);
                if self.state() <= CaState::Disorder {
                    self.try_undo_dsack();
                }
                self.identify_loss(ack, false);
                if self.expires_segments() {
                    self.mark_expired();
                }
                if !self.time_to_recover() {
                    self.try_to_open(ack);
                    return Retransmit::Nothing;
                }
                self.enter_recovery(ack.ece);
                self.identify_loss(ack, true);
            }
        }
        Retransmit::Lost
    }

    /// All that was in flight when the state began is ACKed; whether nothing else is to be done.
    fn state_ends(&mut self) -> bool {
        match self.state() {
            CaState::Cwr if self.una != self.high_seq => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery => {
                if !self.profile.sack {
                    self.socket.fields.sacked_out = 0;
                }
                if self.try_undo_recovery() {
                    return true;
                }
                self.end_reduction();
            }
            CaState::Disorder if self.profile.moderate_window && self.una != self.high_seq => {
                self.undo.marker = None;
                self.set_state(CaState::Open);
            }
            _ => {}
        }
        false
    }

    fn count_duplicate(&mut self, duplicate: bool) {
        if !self.profile.sack && duplicate {
            self.add_duplicate();
        }
    }

    fn time_to_recover(&self) -> bool {
        if self.uses_rack() {
            self.socket.fields.lost_out > 0
        } else {
            self.duplicates_tell_of_loss()
        }
    }

    /// Marks what is lost. Before RACK this waits until recovery is entered.
    fn identify_loss(&mut self, ack: &mut Ack, entering: bool) {
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

    /// In Loss: whether the timeout was none (F-RTO, RFC 5682), whether it is over, what to send.
    fn process_loss(&mut self, ack: &Ack, duplicate: bool) -> Retransmit {
        let recovered = self.una >= self.high_seq;
        if ack.una_advanced && self.try_undo_loss(false) {
            return Retransmit::Nothing;
        }
        if self.frto {
            // Step 3.b: something was ACKed that was never sent again.
            if ack.original_delivered && self.try_undo_loss(true) {
                return Retransmit::Nothing;
            }
            if self.nxt > self.high_seq {
                if ack.data_sacked || duplicate {
                    self.frto = false; // step 3.a: the loss was real
                }
            } else if ack.una_advanced && !recovered {
                // Step 2.b: new data, to see what comes back.
                self.high_seq = self.nxt;
                if self.nxt < self.written && self.window_end() > self.nxt {
                    return Retransmit::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery();
            return Retransmit::Nothing;
        }
        if !self.profile.sack {
            if self.nxt > self.high_seq && duplicate {
                self.add_duplicate();
            } else if ack.una_advanced {
                self.socket.fields.sacked_out = 0;
            }
        }
        Retransmit::Lost
    }

    /// The receiver has thrown away what it had reported (RFC 2018, section 8): a timeout is near.
    fn check_reneging(&mut self, ack: &mut Ack) -> bool {
        let reneged = ack.una_advanced && self.board.first().is_some_and(|first| first.sacked);
        if reneged {
            let half_us = (self.srtt_us() / 2).max(10_000);
            self.set_timer(super::timer::Purpose::Retransmission, half_us);
            ack.set_timer = false;
        }
        reneged
    }

    /// The retransmission timer has gone off.
    pub(super) fn enter_loss(&mut self) {
        let new = self.state() < CaState::Recovery;
        self.mark_all_lost();
        if self.state() <= CaState::Disorder
            || self.una >= self.high_seq
            || (self.state() == CaState::Loss
                && (self.timeouts == 0 || !self.profile.hold_ssthresh))
        {
            self.undo.prior_ssthresh = self.current_ssthresh();
            let fields = &mut self.socket.fields;
            fields.prior_cwnd = fields.snd_cwnd;
            let ssthresh = self.socket.ssthresh();
            self.socket.fields.snd_ssthresh = ssthresh;
            self.socket.cwnd_event(CaEvent::Loss);
            self.begin_undo();
        }
        self.set_cwnd(self.packets_in_flight() + 1);
        self.socket.fields.snd_cwnd_cnt = 0;
        self.usage.stamp_us = self.now_us();
        if self.state() <= CaState::Disorder
            && self.socket.fields.sacked_out >= self.profile.reordering
        {
            // Waiting for so much reordering has cost a timeout.
            self.reordering = self.reordering.min(self.profile.reordering);
        }
        self.set_state(CaState::Loss);
        self.high_seq = self.nxt;
        self.probe.end_seq = None;
        self.owe_cwr();
        self.frto = self.profile.frto && (new || self.timeouts > 0);
    }
}
