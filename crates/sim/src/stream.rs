//! One direction of a connection as the applications see it: what was written, and when it arrived.

use std::ops::Range;

use kirikae_path::{Span, Time};
use serde::{Deserialize, Serialize};

/// A write and its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The flow's activity that wrote it, from 0.
    pub activity: usize,
    /// When it was written.
    pub start: Time,
    /// Bytes of the stream before it.
    pub offset: u64,
    /// Bytes in it.
    pub bytes: u64,
    /// When its first byte could be read in order at the other end, if it could before the end.
    pub first: Option<Time>,
    /// When its last byte could be read in order there, if it could before the end.
    pub last: Option<Time>,
}

impl Written {
    /// From writing its first byte until its last could be read in order.
    pub fn latency(&self) -> Option<Span> {
        Some(self.last? - self.start)
    }

    /// From its first byte in order until its last.
    pub fn first_to_last(&self) -> Option<Span> {
        Some(self.last? - self.first?)
    }

    /// The bytes of the stream that it is.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.bytes
    }
}

/// What was written to a stream, in order.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub writes: Vec<Written>,
    /// Bytes readable in order at the other end.
    pub arrived: u64,
    /// How many of the writes have arrived whole.
    whole: usize,
}

impl Stream {
    pub fn write(&mut self, now: Time, activity: usize, bytes: u64) {
        let offset = self.bytes();
        let written = Written { activity, start: now, offset, bytes, first: None, last: None };
        if self.writes.is_empty() {
            self.writes.reserve_exact(1); // of many flows most write once
        }
        self.writes.push(written);
    }

    /// The number of bytes written.
    pub fn bytes(&self) -> u64 {
        self.writes.last().map_or(0, |last| last.range().end)
    }

    /// Whether everything written has arrived.
    pub fn is_whole(&self) -> bool {
        self.whole == self.writes.len()
    }

    /// So many bytes can be read in order now. Gives the activities whose writes that makes whole,
    /// one with each call.
    pub fn advance(&mut self, now: Time, arrived: u64) -> Option<usize> {
        self.arrived = arrived;
        let write = self.writes.get_mut(self.whole)?;
        if write.offset < arrived {
            write.first.get_or_insert(now);
        }
        if arrived < write.range().end {
            return None;
        }
        write.last = Some(now);
        self.whole += 1;
        Some(write.activity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_arrives_from_its_first_byte_to_its_last() {
        let at = Time::from_nanos;
        let mut stream = Stream::default();
        stream.write(at(10), 0, 100);
        stream.write(at(20), 3, 50);
        assert_eq!(stream.advance(at(30), 1), None);
        assert_eq!(stream.advance(at(40), 99), None);
        // The second begins and ends with the segment that ends the first.
        assert_eq!(stream.advance(at(50), 150), Some(0));
        assert_eq!(stream.advance(at(50), 150), Some(3));
        assert_eq!(stream.advance(at(50), 150), None);
        let spans = stream.writes.iter().map(|write| (write.latency(), write.first_to_last()));
        let span = |nanos| Some(Span::from_nanos(nanos));
        assert_eq!(spans.collect::<Vec<_>>(), [(span(40), span(20)), (span(30), span(0))]);
        assert_eq!((stream.bytes(), stream.arrived), (150, 150));
    }
}
