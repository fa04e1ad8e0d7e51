//! The states of congestion control: which state follows an ACK that shows more than progress, and how a
//! reduction is undone.

use kirikae_algorithms::CaState;

use super::Sender;
use super::ack::{Ack, Retransmit};

impl Sender {
    /// Whether the window is being reduced to ssthresh.
    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.state(), CaState::Cwr | CaState::Recovery)
    }

    /// Processes an ACK that shows more than progress: sets the state, and returns what is to be sent again
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

    /// In Recovery, undoes a reduction that was wrong, or finds more losses.
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

    /// In Loss, finds that the timeout was spurious, or has lost segments sent again.
    fn alert_in_loss(&mut self, ack: &mut Ack) -> Retransmit {
        let next = self.process_loss(ack);
        self.identify_loss(ack, false);
        if !(self.state() == CaState::Open || ack.lost_retransmission) {
            self.moderate_window();
            return next;
        }
        // The window was restored, or a retransmission was lost again.
        if !self.time_to_recover() {
            self.try_to_open(ack);
            return next;
        }
        self.enter_recovery(ack.ece);
        Retransmit::Lost
    }

    /// In Open, Disorder or CWR, begins recovery if enough is known to be lost.
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

    /// Without SACK, counts the segment that a duplicate ACK stands for.
    fn count_duplicate(&mut self, ack: &Ack) {
        if !self.profile.sack && ack.is_duplicate() {
            self.add_duplicate();
        }
    }

    /// Ends the state if everything that was in flight at its beginning is ACKed; returns whether nothing
    /// else is to be done.
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

    /// Enters CWR for a mark (ECN) without loss.
    fn enter_cwr(&mut self) {
        self.undo.forget_ssthresh();
        if self.state() < CaState::Cwr {
            self.undo.give_up();
            self.begin_reduction();
            self.set_state(CaState::Cwr);
        }
    }

    /// Enters recovery for a loss. With `marked` the ACK reports a mark as well, so that the window must be
    /// reduced even if the loss was none.
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

    /// Sets the state to Open, or to Disorder if something is SACKed, lost or sent again.
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

    /// Sets the state when no loss is known: Open or Disorder, or CWR after a mark.
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

    /// Begins to watch retransmissions, so that a reduction can be undone.
    pub(super) fn begin_undo(&mut self) {
        let in_flight = self.socket.fields.retrans_out + self.probe.retransmissions();
        self.undo.begin(self.una, in_flight);
    }

    /// Whether the ACK shows that an original was only delayed.
    fn original_was_delayed(&self, ack: &Ack) -> bool {
        // Without SACK, that is forgotten when all of the episode is ACKed.
        let unsent_tells = self.profile.sack || self.una < self.high_seq;
        self.undo.original_was_delayed(ack.echo_ms, unsent_tells)
    }

    /// Whether the ACK shows that the reduction was wrong.
    fn may_undo(&self, ack: &Ack) -> bool {
        self.undo.all_were_duplicates() || self.original_was_delayed(ack)
    }

    /// Restores window and threshold to the values before the reduction. With `unmark` nothing counts as lost
    /// any more.
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

    /// All of the episode is ACKed: undoes the reduction if it was wrong. Returns whether the state has to
    /// stay.
    pub(super) fn try_undo_recovery(&mut self, ack: &Ack) -> bool {
        if self.may_undo(ack) {
            self.undo_reduction(false);
        } else {
            self.rack.recovery_ended();
        }
        if !self.profile.sack && self.una == self.high_seq {
            // Duplicates of retransmissions may still come, and must not look like a loss.
            if !self.any_retransmission() {
                self.undo.forget_retransmissions();
            }
            return true;
        }
        self.set_state(CaState::Open);
        false
    }

    /// Undoes the reduction if everything that was sent again turned out to have arrived twice.
    fn try_undo_dsack(&mut self) -> bool {
        let all = self.undo.all_were_duplicates();
        if all {
            self.rack.keep_window();
            self.undo_reduction(false);
        }
        all
    }

    /// In recovery, undoes the reduction if a delayed original filled a hole. Returns whether retransmissions
    /// are still out.
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

    /// Undoes a spurious timeout. It is `certain` by F-RTO, or is shown by the ACK.
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
