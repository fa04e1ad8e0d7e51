//! The bytes of the stream are a function of their offset, so that the receiver can check each.

use std::io::IoSlice;
use std::ops::Range;

/// Length after which the pattern repeats. It is prime, so that it never lines up with segments, pages or
/// bursts, and a displaced piece of the stream shows.
const PERIOD: usize = 65_521;

/// Number of pieces that are written at once: more than any send buffer takes.
const MOST_PIECES: usize = 64;

/// The pattern from any offset on, without a computation per byte of the stream.
pub struct Pattern {
    /// Two periods, so that up to one period is contiguous from any phase.
    bytes: Vec<u8>,
}

impl Pattern {
    /// The pattern of every connection.
    pub fn new() -> Pattern {
        // Multiplicative hashing: the high byte of successive products looks random.
        let byte = |place: usize| ((place % PERIOD) as u32).wrapping_mul(0x9e37_79b1) >> 24;
        Pattern { bytes: (0..2 * PERIOD).map(|place| byte(place) as u8).collect() }
    }

    /// The stream's bytes from `offset` on, as many as asked for but at most one period.
    fn at(&self, offset: u64, length: u64) -> &[u8] {
        let phase = (offset % PERIOD as u64) as usize;
        &self.bytes[phase..phase + length.min(PERIOD as u64) as usize]
    }

    /// The stream's bytes in a range, as pieces to be written at once: from its beginning on, as many as one
    /// system call takes.
    pub fn pieces(&self, range: Range<u64>) -> Vec<IoSlice<'_>> {
        let starts = range.clone().step_by(PERIOD).take(MOST_PIECES);
        starts.map(|start| IoSlice::new(self.at(start, range.end - start))).collect()
    }

    /// Offset of the first byte that is wrong, if there is one; `data` begins at `offset`.
    pub fn first_wrong(&self, offset: u64, data: &[u8]) -> Option<u64> {
        let mut at = offset;
        for piece in data.chunks(PERIOD) {
            let expected = self.at(at, piece.len() as u64);
            if piece != expected {
                let wrong = piece.iter().zip(expected).position(|(found, right)| found != right);
                return wrong.map(|place| at + place as u64);
            }
            at += piece.len() as u64;
        }
        None
    }
}

impl Default for Pattern {
    fn default() -> Self {
        Pattern::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_displaced_byte_is_found() {
        let pattern = Pattern::new();
        let pieces = pattern.pieces(1_000_000..1_200_000);
        let mut data: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        assert_eq!(data.len(), 200_000);
        assert_eq!(pattern.first_wrong(1_000_000, &data), None);
        assert_eq!(pattern.first_wrong(1_001_448, &data), Some(1_001_448));
        data[70_123] ^= 1;
        assert_eq!(pattern.first_wrong(1_000_000, &data), Some(1_070_123));
    }
}
