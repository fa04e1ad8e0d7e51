//! Finds losses by what was SACKed above a hole (RFC 6675; FACK: Mathis and Mahdavi 1996) or by duplicate
//! ACKs (RFC 6582), in profiles older than RACK.

use kirikae_algorithms::CaState;

use super::Sender;
use crate::LossDetection;

impl Sender {
    /// Segments from the first one in flight to the highest SACKed.
    fn forward_acked(&self) -> u32 {
        let highest = self.board.highest_sacked();
        highest.map_or(0, |highest| self.board.position(highest) as u32)
    }

    /// Whether enough was reported beyond a hole to count it as lost.
    pub(super) fn duplicates_tell_of_loss(&self) -> bool {
        let fields = &self.socket.fields;
        if fields.lost_out > 0 {
            return true;
        }
        if self.forward_acks() {
            return self.forward_acked() > self.reordering.segments();
        }
        if fields.sacked_out >= self.reordering.segments() {
            return true;
        }
        // With few segments in flight fewer duplicates can come (early retransmit, RFC 5827).
        fields.packets_out <= self.reordering.segments()
            && fields.sacked_out >= (fields.packets_out / 2).max(self.reordering.segments())
            && self.nxt == self.written
    }

    /// Whether FACK counts holes as having left the network; it does not once reordering was seen.
    pub(super) fn forward_acks(&self) -> bool {
        self.profile.sack
            && self.profile.loss_detection == LossDetection::Fack
            && !self.reordering.is_seen()
    }

    /// Marks what is lost. With `entering`, recovery begins, and at least one segment is marked.
    pub(super) fn mark_lost_by_duplicates(&mut self, entering: bool) {
        if !self.profile.sack {
            return self.mark_head_lost(1, true);
        }
        if self.forward_acks() {
            for index in self.board.overtaken() {
                self.mark_lost(index); // the segment, if it was not held for lost,
                self.mark_lost(index); // and what was sent again of it
            }
            let lost = self.forward_acked().saturating_sub(self.reordering.segments()).max(1);
            return self.mark_head_lost(lost, true);
        }
        let sacked = self.socket.fields.sacked_out;
        if sacked >= self.reordering.segments() {
            self.mark_head_lost(sacked - self.reordering.segments() + 1, false);
        } else if entering {
            self.mark_head_lost(1, true);
        }
    }

    /// Marks segments from the first on that are not SACKed: until so many are passed over, or with `all`
    /// false, only those below which so many SACKed ones remain above the threshold.
    fn mark_head_lost(&mut self, segments: u32, all: bool) {
        let highest = self.board.highest_sacked();
        let mut passed = 0;
        let mut index = 0;
        while let Some(sent) = self.board.get_mut(index) {
            let (seq, sacked, lost) = (sent.seq, sent.sacked, sent.lost);
            if !all && highest.is_none_or(|highest| seq >= highest) {
                break;
            }
            if all || sacked {
                passed += 1;
            }
            if passed > segments || (!all && passed >= segments && sacked) {
                break;
            }
            if !sacked && !lost {
                self.mark_lost(index);
            }
            index += 1;
        }
    }

    /// Counts a duplicate ACK, which without SACK stands for a segment that has arrived.
    pub(super) fn add_duplicate(&mut self) {
        let fields = &mut self.socket.fields;
        // At least one segment is missing.
        if fields.sacked_out + fields.lost_out.max(1) < fields.packets_out {
            fields.sacked_out += 1;
            fields.delivered = fields.delivered.wrapping_add(1);
        }
    }

    /// Without SACK, accounts for an ACK of so many segments: one filled the hole, and the duplicates had
    /// stood for the others.
    pub(super) fn remove_duplicates(&mut self, acked: u32) {
        let fields = &mut self.socket.fields;
        if acked > 0 {
            fields.delivered =
                fields.delivered.wrapping_add((acked.saturating_sub(fields.sacked_out)).max(1));
            fields.sacked_out = fields.sacked_out.saturating_sub(acked - 1);
        }
        self.limit_duplicates();
    }

    /// Without SACK, limits the duplicates to the segments that are in flight and not lost.
    pub(super) fn limit_duplicates(&mut self) {
        let fields = &mut self.socket.fields;
        let room = fields.packets_out.saturating_sub(fields.lost_out.max(1));
        fields.sacked_out = fields.sacked_out.min(room);
    }

    /// Without SACK, in recovery, marks the first segment in flight, which is the hole (RFC 6582).
    pub(super) fn mark_next_hole_lost(&mut self) {
        if self.state() == CaState::Recovery && self.board.first().is_some_and(|first| !first.lost)
        {
            self.mark_lost(0);
        }
    }
}
