//! Data beyond a hole, and what the other end is told of it by SACK.

use std::collections::VecDeque;
use std::ops::Range;

use kirikae_path::Time;

use crate::segment::SackBlocks;

/// Number of blocks that are remembered, even if a segment has no room for all (`TCP_NUM_SACKS`).
const BLOCKS: usize = SackBlocks::MOST;

/// What a receiver keeps while data is missing, or while a duplicate is still to be reported.
#[derive(Clone, Debug, Default)]
pub(super) struct OutOfOrder {
    /// Ranges that have arrived beyond the hole: disjoint, not adjacent, ascending.
    ranges: VecDeque<Range<u64>>,
    /// Bytes in them.
    bytes: u64,
    /// SACK blocks, the most recently changed first (RFC 2018, section 4).
    blocks: Vec<Range<u64>>,
    /// The duplicate range to report with the next segment (RFC 2883).
    dsack: Option<Range<u64>>,
    /// Number of ACKs that are held back.
    pub compressed: u32,
    pub compressed_until: Time,
    /// Duplicate ACKs sent at once for the hole at `duplicates_of`.
    pub duplicates: u8,
    pub duplicates_of: u64,
}

impl OutOfOrder {
    /// Whether no data waits for a hole to be filled.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether there is nothing left to wait for or to tell.
    pub fn is_over(&self) -> bool {
        self.ranges.is_empty() && self.dsack.is_none()
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// End of the data furthest ahead.
    pub fn end(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.end)
    }

    /// Takes in data beyond a hole. Returns whether its block was not among the first two, so that the other
    /// end has not heard of it lately (`tcp_data_queue_ofo`, `tcp_sack_new_ofo_skb`).
    pub fn insert(&mut self, data: Range<u64>) -> bool {
        let first = match self.ranges.back() {
            // Usually it continues the range that came last.
            Some(last) if last.start <= data.start => {
                self.ranges.len() - usize::from(touch(last, &data))
            }
            _ => self.ranges.partition_point(|range| range.end < data.start),
        };
        let mut merged = data.clone();
        let mut duplicate = None;
        let mut after = first;
        while let Some(range) = self.ranges.get(after).filter(|range| touch(range, &data)).cloned()
        {
            extend(&mut duplicate, range.start.max(data.start)..range.end.min(data.end));
            self.bytes -= length(&range);
            merged = join(&merged, &range);
            after += 1;
        }
        self.bytes += length(&merged);
        if after > first {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..after);
        } else {
            self.ranges.insert(first, merged);
        }
        self.dsack = duplicate.or(self.dsack.take());
        self.report(data)
    }

    /// Puts the block of `data` first. If there are too many, the last one is forgotten.
    fn report(&mut self, data: Range<u64>) -> bool {
        let place = self.blocks.iter().position(|block| touch(block, &data));
        let mut first = match place {
            Some(place) => join(&self.blocks.remove(place), &data),
            None => data,
        };
        let seldom = place.unwrap_or(self.blocks.len()) >= 2;
        self.blocks.retain(|block| {
            let apart = !touch(block, &first);
            if !apart {
                first = join(&first, block);
            }
            apart
        });
        self.blocks.insert(0, first);
        self.blocks.truncate(BLOCKS);
        seldom
    }

    /// Data in order goes up to `rcv_nxt`. Returns up to where it goes together with data that has waited
    /// (`tcp_ofo_queue`, `tcp_sack_remove`).
    pub fn fill(&mut self, rcv_nxt: u64) -> u64 {
        let mut next = rcv_nxt;
        while let Some(range) = self.ranges.front().filter(|range| range.start <= next).cloned() {
            self.ranges.pop_front();
            self.bytes -= length(&range);
            extend(&mut self.dsack, range.start..range.end.min(rcv_nxt));
            next = next.max(range.end);
        }
        self.blocks.retain(|block| block.start > next);
        next
    }

    /// Notes data that had arrived before (`tcp_dsack_set`).
    pub fn duplicate(&mut self, data: Range<u64>) {
        self.dsack = Some(data);
    }

    /// Takes the blocks for a segment about to be sent, the DSACK first, which is then no longer reported.
    pub fn take_blocks(&mut self, room: usize) -> Option<Box<SackBlocks>> {
        let dsack = self.dsack.take();
        let mut blocks = dsack.into_iter().chain(self.blocks.iter().cloned()).take(room).peekable();
        blocks.peek()?;
        Some(Box::new(blocks.collect()))
    }
}

/// Adds a range to the DSACK. A segment has only one DSACK block: a range that does not join it is not
/// reported (`tcp_dsack_extend`).
fn extend(dsack: &mut Option<Range<u64>>, data: Range<u64>) {
    match dsack {
        _ if data.is_empty() => {}
        None => *dsack = Some(data),
        Some(dsack) if touch(dsack, &data) => *dsack = join(dsack, &data),
        Some(_) => {}
    }
}

/// Whether two ranges overlap or are adjacent.
fn touch(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start <= other.end && other.start <= one.end
}

/// The range that holds both.
fn join(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    one.start.min(other.start)..one.end.max(other.end)
}

/// Bytes of a range.
fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(data: &[Range<u64>]) -> OutOfOrder {
        let mut all = OutOfOrder::default();
        for range in data {
            all.insert(range.clone());
        }
        all
    }

    fn blocks(all: &mut OutOfOrder, room: usize) -> Vec<(u64, u64)> {
        let blocks = all.take_blocks(room).unwrap_or_default();
        blocks.as_slice().iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn the_block_that_changed_last_comes_first() {
        let mut all = after(&[20..30, 40..50, 60..70, 42..48, 70..80]);
        assert_eq!(blocks(&mut all, 1), [(42, 48)], "a duplicate");
        assert_eq!(blocks(&mut all, 4), [(60, 80), (40, 50), (20, 30)], "it is told once");
        assert_eq!(all.bytes(), 40);
    }

    #[test]
    fn four_blocks_are_remembered() {
        let mut all = after(&[10..11, 20..21, 30..31, 40..41, 50..51]);
        assert_eq!(blocks(&mut all, 4), [(50, 51), (40, 41), (30, 31), (20, 21)]);
        assert_eq!(blocks(&mut all, 3), [(50, 51), (40, 41), (30, 31)]);
        assert!(all.insert(21..22), "the fourth block has gone untold of late");
        assert!(!all.insert(51..52));
    }

    #[test]
    fn a_gap_that_closes_joins_blocks() {
        let mut all = after(&[10..20, 30..40, 20..30]);
        assert_eq!(blocks(&mut all, 4), [(10, 40)]);
        assert_eq!(all.fill(10), 40);
    }

    #[test]
    fn what_overlaps_is_reported_as_duplicate() {
        let mut all = after(&[20..30, 40..50, 25..45]);
        assert_eq!(blocks(&mut all, 4), [(25, 30), (20, 50)], "the first of the two overlaps");
        assert_eq!(all.bytes(), 30);
        assert_eq!(all.fill(25), 50);
        assert_eq!(blocks(&mut all, 4), [(20, 25)]);
        assert!(all.is_over());
    }

    #[test]
    fn filling_a_hole_takes_what_has_waited() {
        let mut all = after(&[20..30, 40..50]);
        assert_eq!(all.fill(20), 30);
        assert_eq!(blocks(&mut all, 4), [(40, 50)]);
        assert_eq!((all.bytes(), all.end()), (10, Some(50)));
        assert_eq!(all.fill(40), 50);
        assert!(all.is_over());
    }

    /// Compares with a model that has a bit for each byte.
    #[test]
    fn ranges_stay_disjoint_and_complete() {
        let mut seed = 1_u64;
        let mut all = OutOfOrder::default();
        let mut model = [false; 260];
        for _ in 0..2_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let start = 1 + (seed >> 33) % 240;
            let data = start..start + 1 + (seed >> 50) % 12;
            model[data.start as usize..data.end as usize].fill(true);
            all.insert(data);
            assert!(all.ranges.iter().zip(all.ranges.iter().skip(1)).all(|(a, b)| a.end < b.start));
            let bytes: Vec<u64> = all.ranges.iter().cloned().flatten().collect();
            let expected: Vec<u64> = (0..260).filter(|&byte| model[byte as usize]).collect();
            assert_eq!(bytes, expected);
            assert_eq!(all.bytes(), bytes.len() as u64);
            if (seed >> 40).is_multiple_of(50) {
                (all, model) = (OutOfOrder::default(), [false; 260]);
            }
        }
    }
}
