//! The states of congestion control: which of them follows from an ACK that tells of more than
//! progress, and taking a reduction back.

use kirikae_algorithms::CaState;

use super::Sender;
use super::ack::{Ack, Retransmit};

impl Sender {
    /// Whether the window is coming down to ssthresh.
    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.state(), CaState::Cwr | CaState::Recovery)
    }

    /// An ACK tells of more than progress: which state follows, and what is to be sent again
    /// (tcp_fastretrans_alert).
    pub(super) fn alert(&mut self, ack: &mut Ack) -> Retransmit {
        if ack.ece {
            self.undo.forget_ssthresh();
        }
        if self.check_reneging(ack) {
            return Retransmit::Nothing;
        }
        if self.state() == CaState::Open {
            if self.socket.fields.retrans_out == 0 {
                self.undo.forget_retransmissions();
            }
        } else if self.una >= self.high_seq && self.state_ends(ack) {
            return Retransmit::Nothing;
        }
        match self.state() {
            CaState::Recovery => self.alert_in_recovery(ack),
            CaState::Loss => self.alert_in_loss(ack),
            CaState::Open | CaState::Disorder | CaState::Cwr => self.alert_before_recovery(ack),
        }
    }

    /// In Recovery: a reduction that was wrong is taken back, or more is found lost.
    fn alert_in_recovery(&mut self, ack: &mut Ack) -> Retransmit {
        if !ack.una_advanced {
            self.count_duplicate(ack);
        } else if self.try_undo_partial(ack) {
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
        Retransmit::Lost
    }

    /// In Loss: the timeout turns out to be spurious, or what is lost is sent again.
    fn alert_in_loss(&mut self, ack: &mut Ack) -> Retransmit {
        let next = self.process_loss(ack);
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
        Retransmit::Lost
    }

    /// In Open, Disorder or CWR: recovery begins where enough is known to be lost.
    fn alert_before_recovery(&mut self, ack: &mut Ack) -> Retransmit {
        if !self.profile.sack && ack.una_advanced {
            self.socket.fields.sacked_out = 0;
        }
        self.count_duplicate(ack);
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
        Retransmit::Lost
    }

    /// Without SACK, notes what a duplicate ACK stands for.
    fn count_duplicate(&mut self, ack: &Ack) {
        if !self.profile.sack && ack.is_duplicate() {
            self.add_duplicate();
        }
    }

    /// All that was in flight when the state began is ACKed; whether nothing else is to be done.
    fn state_ends(&mut self, ack: &Ack) -> bool {
        match self.state() {
            CaState::Cwr if self.una != self.high_seq => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery => {
                if !self.profile.sack {
                    self.socket.fields.sacked_out = 0;
                }
                if self.try_undo_recovery(ack) {
                    return true;
                }
                self.end_reduction();
            }
            CaState::Disorder if self.profile.moderate_window && self.una != self.high_seq => {
                self.undo.give_up();
                self.set_state(CaState::Open);
            }
            _ => {}
        }
        false
    }

    /// A mark (ECN), without loss.
    fn enter_cwr(&mut self) {
        self.undo.forget_ssthresh();
        if self.state() < CaState::Cwr {
            self.undo.give_up();
            self.begin_reduction();
            self.set_state(CaState::Cwr);
        }
    }

    /// A loss is found; `marked`: the ACK reports a mark as well, so that the window must come down
    /// even if the loss was none.
    pub(super) fn enter_recovery(&mut self, marked: bool) {
        if !self.any_retransmission() {
            self.undo.forget_retransmissions();
        }
        self.undo.forget_ssthresh();
        self.begin_undo();
        if !self.in_reduction() {
            if !marked {
                self.undo.remember_ssthresh(self.current_ssthresh());
            }
            self.begin_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    /// The state is Open, or Disorder where something is SACKed, lost or sent again.
    pub(super) fn try_keep_open(&mut self) {
        let fields = &self.socket.fields;
        let undoable = self.profile.moderate_window && self.undo.is_pending();
        let disorder =
            fields.sacked_out + fields.lost_out > 0 || self.any_retransmission() || undoable;
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.state() != state {
            self.set_state(state);
            self.high_seq = self.nxt;
        }
    }

    /// No loss is known: the state is Open or Disorder, or CWR where there was a mark.
    fn try_to_open(&mut self, ack: &Ack) {
        if !self.any_retransmission() {
            self.undo.forget_retransmissions();
        }
        if ack.ece {
            self.enter_cwr();
        }
        if self.state() != CaState::Cwr {
            self.try_keep_open();
            self.moderate_window();
        }
    }

    /// From now on what is sent again is watched, so that a reduction may be taken back.
    pub(super) fn begin_undo(&mut self) {
        let in_flight = self.socket.fields.retrans_out + self.probe.retransmissions();
        self.undo.begin(self.una, in_flight);
    }

    /// Whether the ACK shows that an original was only delayed.
    fn original_was_delayed(&self, ack: &Ack) -> bool {
        // Without SACK it is forgotten when all of the episode is ACKed.
        let unsent_tells = self.profile.sack || self.una < self.high_seq;
        self.undo.original_was_delayed(ack.echo_ms, unsent_tells)
    }

    /// Whether the ACK shows that the reduction was wrong.
    fn may_undo(&self, ack: &Ack) -> bool {
        self.undo.all_were_duplicates() || self.original_was_delayed(ack)
    }

    /// Window and threshold are as before the reduction; `unmark`: and nothing is lost.
    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.unmark_lost();
        }
        if let Some(prior) = self.undo.take_back() {
            let cwnd = self.socket.undo_cwnd();
            self.set_cwnd(cwnd);
            if prior > self.socket.fields.snd_ssthresh {
                self.socket.fields.snd_ssthresh = prior;
                self.ecn.owes_cwr = false;
            }
        }
        self.usage.window_changed(self.now_us());
        self.rack.look_again();
    }

    /// All of the episode is ACKed; whether the state has to stay.
    pub(super) fn try_undo_recovery(&mut self, ack: &Ack) -> bool {
        if self.may_undo(ack) {
            self.undo_reduction(false);
        } else {
            self.rack.recovery_ended();
        }
        if !self.profile.sack && self.una == self.high_seq {
            // Duplicates of what was sent again may still come; they must not look like a loss.
            if !self.any_retransmission() {
                self.undo.forget_retransmissions();
            }
            return true;
        }
        self.set_state(CaState::Open);
        false
    }

    /// The reduction is taken back where everything that was sent again turned out to have been there.
    fn try_undo_dsack(&mut self) -> bool {
        let all = self.undo.all_were_duplicates();
        if all {
            self.rack.keep_window();
            self.undo_reduction(false);
        }
        all
    }

    /// In recovery a hole was filled by a delayed original; whether what was sent again is still out.
    fn try_undo_partial(&mut self, ack: &Ack) -> bool {
        if !self.original_was_delayed(ack) {
            return false;
        }
        self.check_reordering(ack.prior_una);
        if self.socket.fields.retrans_out > 0 {
            return true;
        }
        if !self.any_retransmission() {
            self.undo.forget_retransmissions();
        }
        self.undo_reduction(true);
        self.try_keep_open();
        false
    }

    /// A timeout was spurious: for `certain` by F-RTO, or by what else the ACK shows.
    pub(super) fn try_undo_loss(&mut self, certain: bool, ack: &Ack) -> bool {
        if !(certain || self.may_undo(ack)) {
            return false;
        }
        self.undo_reduction(true);
        self.timeouts = 0;
        if certain || self.profile.sack {
            self.set_state(CaState::Open);
        }
        true
    }
}
