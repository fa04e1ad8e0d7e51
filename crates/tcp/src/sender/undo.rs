//! Taking a reduction back that was wrong: everything sent again was there already (DSACK, RFC 3708)
//! or the ACK is older than what was sent again (timestamps, RFC 4015).

use kirikae_algorithms::CaState;

use super::Sender;

/// What is needed to take the latest reduction back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// `snd_una` when the episode began; none: it cannot be undone.
    pub marker: Option<u64>,
    /// Segments sent again that no DSACK has told of; none: nothing has been sent again.
    pub outstanding: Option<u32>,
    /// Slow start threshold before the reduction; 0: none.
    pub prior_ssthresh: u32,
    /// When something was first sent again in this episode, in milliseconds of the timestamps.
    pub retransmitted_at: Option<u32>,
    /// The latest ACK's echo, in the same clock.
    pub echo: Option<u32>,
}

impl Sender {
    pub(super) fn begin_undo(&mut self) {
        self.undo.marker = Some(self.una);
        let probe = self.probe.end_seq.is_some() && self.probe.retransmission;
        let outstanding = self.socket.fields.retrans_out + u32::from(probe);
        self.undo.outstanding = (outstanding > 0).then_some(outstanding);
    }

    /// A DSACK tells of so many segments.
    pub(super) fn undo_retransmission(&mut self, segments: u32) {
        if let Some(outstanding) = &mut self.undo.outstanding {
            *outstanding = outstanding.saturating_sub(segments);
        }
    }

    /// Whether the ACK is for something sent before the first retransmission.
    fn original_was_delayed(&self) -> bool {
        match (self.undo.retransmitted_at, self.undo.echo) {
            (Some(again), Some(echo)) => echo.wrapping_sub(again).cast_signed() < 0,
            // Without SACK it is forgotten when all of the episode is ACKed.
            (None, _) => self.profile.sack || self.una < self.high_seq,
            (Some(_), None) => false,
        }
    }

    fn may_undo(&self) -> bool {
        self.profile.undo
            && self.undo.marker.is_some()
            && (self.undo.outstanding == Some(0) || self.original_was_delayed())
    }

    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.unmark_lost();
        }
        if self.undo.prior_ssthresh > 0 {
            let cwnd = self.socket.undo_cwnd();
            self.set_cwnd(cwnd);
            let prior = self.undo.prior_ssthresh;
            if prior > self.socket.fields.snd_ssthresh {
                self.socket.fields.snd_ssthresh = prior;
                self.ecn.owes_cwr = false;
            }
        }
        self.usage.stamp_us = self.now_us();
        self.undo.marker = None;
        self.rack.advanced = true; // look again at what is in flight
    }

    /// All of the episode is ACKed; whether the state has to stay.
    pub(super) fn try_undo_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo_reduction(false);
        } else if self.rack.persist > 0 {
            self.rack.persist -= 1;
        }
        if !self.profile.sack && self.una == self.high_seq {
            // Duplicates of what was sent again may still come; they must not look like a loss.
            if !self.any_retransmission() {
                self.undo.retransmitted_at = None;
            }
            return true;
        }
        self.set_state(CaState::Open);
        false
    }

    /// Everything that was sent again turned out to have been there.
    pub(super) fn try_undo_dsack(&mut self) -> bool {
        let all =
            self.profile.undo && self.undo.marker.is_some() && self.undo.outstanding == Some(0);
        if all {
            self.rack.keep_window();
            self.undo_reduction(false);
        }
        all
    }

    /// In recovery a hole was filled by a delayed original; whether what was sent again is still out.
    pub(super) fn try_undo_partial(&mut self, prior_una: u64) -> bool {
        if !(self.profile.undo && self.undo.marker.is_some() && self.original_was_delayed()) {
            return false;
        }
        self.check_reordering(prior_una);
        if self.socket.fields.retrans_out > 0 {
            return true;
        }
        if !self.any_retransmission() {
            self.undo.retransmitted_at = None;
        }
        self.undo_reduction(true);
        self.try_keep_open();
        false
    }

    /// A timeout was none.
    pub(super) fn try_undo_loss(&mut self, certain: bool) -> bool {
        if !(certain || self.may_undo()) {
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
