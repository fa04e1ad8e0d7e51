//! Processes SACK blocks (RFC 2018), DSACKs for what arrived twice (RFC 2883), and the reordering that they
//! show.

use std::ops::Range;

use kirikae_algorithms::CaState;

use super::Sender;
use super::ack::{Ack, Delivery};
use crate::SackBlocks;

impl Sender {
    /// Processes the SACK blocks of an ACK.
    pub(super) fn on_sack(
        &mut self,
        blocks: &[Range<u64>],
        ack: &mut Ack,
        delivery: &mut Delivery,
    ) {
        let mut blocks = blocks;
        if let Some((first, rest)) = blocks.split_first()
            && is_dsack(first, rest, ack.acked_to)
        {
            self.on_dsack(first, ack);
            blocks = rest;
        }
        // The newest block comes first, so the order of blocks is not that in which segments arrived.
        let mut sorted: [Range<u64>; SackBlocks::MOST] = Default::default();
        let sorted = &mut sorted[..blocks.len()];
        sorted.clone_from_slice(blocks);
        sorted.sort_unstable_by_key(|block| block.start);
        for block in &*sorted {
            if block.start >= block.end || block.end > self.nxt || block.end <= ack.acked_to {
                continue;
            }
            let block = block.start.max(ack.acked_to)..block.end;
            let highest = self.board.highest_sacked();
            for new in self.board.add_sacked(&block) {
                self.sack_segments(&new, highest, ack, delivery);
            }
        }
        if let Some(low) = delivery.sacked_out_of_order
            && (self.state() != CaState::Loss || self.undo.is_pending())
        {
            self.check_reordering(low);
        }
    }

    /// Processes a first block that reports a duplicate.
    fn on_dsack(&mut self, block: &Range<u64>, ack: &mut Ack) {
        if block.start >= block.end || block.end > self.nxt {
            return;
        }
        let segments = self.segments(block.end - block.start);
        let of_probe = self.probe.is_duplicated_by(block.end);
        let fields = &mut self.socket.fields;
        fields.dsack_dups = fields.dsack_dups.wrapping_add(segments);
        if fields.dsack_dups > self.retransmissions {
            return; // the network made the duplicate
        }
        ack.dsack = true;
        // A needless retransmission has been delivered, too.
        fields.delivered = fields.delivered.wrapping_add(segments);
        if of_probe {
            ack.dsack_of_probe = true;
        } else if self.reordering.is_seen() {
            self.rack.note_dsack();
        }
        let in_flight = self.board.get(self.board.position(block.start));
        if block.end <= self.una || in_flight.is_some_and(|sent| sent.ever_retransmitted) {
            self.undo.on_dsack(block.end, segments);
        }
    }

    /// Notes that segments in a range are SACKed that were not before. `highest` is the end of what was
    /// SACKed before.
    fn sack_segments(
        &mut self,
        range: &Range<u64>,
        highest: Option<u64>,
        ack: &mut Ack,
        delivery: &mut Delivery,
    ) {
        let mut index = self.board.position(range.start);
        while let Some(sent) = self.board.get_mut(index)
            && sent.end() <= range.end
        {
            index += 1;
            if sent.sacked || sent.seq < range.start {
                continue;
            }
            let before = *sent;
            sent.sacked = true;
            sent.lost = false;
            sent.retransmitted = false;
            sent.at_sending.delivered_us = 0;
            let fields = &mut self.socket.fields;
            fields.lost_out -= u32::from(before.lost);
            fields.retrans_out -= u32::from(before.retransmitted);
            fields.sacked_out += 1;
            fields.delivered = fields.delivered.wrapping_add(1);
            ack.data_sacked = true;
            if !before.ever_retransmitted {
                if highest.is_some_and(|highest| before.seq < highest) {
                    let low = delivery.sacked_out_of_order.unwrap_or(before.seq);
                    delivery.sacked_out_of_order = Some(low.min(before.seq));
                }
                ack.original_delivered |= before.end() <= self.high_seq;
                delivery.sacked_times.add(before.sent_us);
            }
            delivery.sampling.delivered(&mut self.socket, &before);
            if self.uses_rack() || self.expires_segments() {
                self.rack_delivered(&before);
            }
        }
    }

    /// Notes how far the path reorders: the segment at `low` arrived after later ones.
    pub(super) fn check_reordering(&mut self, low: u64) {
        let highest = self.board.highest_sacked().unwrap_or(self.una);
        if low < highest {
            self.reordering.note(self.segments(highest - low));
        }
    }
}

/// Whether the first block reports a duplicate: it lies below the cumulative ACK, or within the next block
/// (RFC 2883, section 4).
fn is_dsack(first: &Range<u64>, rest: &[Range<u64>], acked_to: u64) -> bool {
    let is_within = |next: &Range<u64>| next.start <= first.start && first.end <= next.end;
    first.end <= acked_to || rest.first().is_some_and(is_within)
}
