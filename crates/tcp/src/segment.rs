//! Segments: what the two ends of a connection send each other.

use std::ops::Range;

use kirikae_path::Time;
use serde::Serialize;

/// IPv4 and TCP headers without options, bytes.
const HEADERS: u32 = 20 + 20;
/// The timestamp option, padded, bytes (RFC 7323).
const TIMESTAMP_OPTION: u32 = 12;
/// The SACK option without blocks, padded, and each block, bytes (RFC 2018).
const SACK_OPTION: u32 = 4;
const SACK_BLOCK: u32 = 8;
/// Options of a SYN as Linux sends it: MSS, SACK permitted, timestamps, window scale; bytes.
const SYN_OPTIONS: u32 = 20;

/// A TCP segment with the relevant fields of its IP header.
///
/// Sequence numbers do not wrap: the SYN takes number 0, the first byte of data 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// Sequence number of the SYN or of the first byte of data.
    pub seq: u64,
    /// Bytes of data.
    pub len: u32,
    /// Next sequence number expected from the other end; 0 in a first SYN.
    pub ack: u64,
    /// Receive window in bytes, already scaled.
    pub window: u32,
    /// Timestamps in milliseconds (RFC 7323); None unless both ends use them.
    pub timestamp: Option<Timestamp>,
    /// SYN: the connection is opened.
    pub syn: bool,
    /// PSH: a write of the application ends with this segment.
    pub psh: bool,
    /// Whether the mobile host that sends it has a link again. It stands for the SYN of TCP Migrate (Snoeren,
    /// Balakrishnan 2000).
    pub migrate: bool,
    /// ECE: a mark has arrived (RFC 3168).
    pub ece: bool,
    /// CWR: the window was reduced for it (RFC 3168).
    pub cwr: bool,
    /// The ECN codepoint in the IP header.
    pub ecn: Ecn,
    /// SACK blocks, the first of which may be a DSACK (RFC 2883); most segments have none.
    pub sack: Option<Box<SackBlocks>>,
}

/// The timestamp option, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Timestamp {
    /// TSval: the sender's clock, which wraps.
    pub value: u32,
    /// TSecr: the other end's clock as last heard.
    pub echo: u32,
}

impl Timestamp {
    /// The clock of timestamps, in milliseconds, at `now`; it wraps.
    pub fn clock(now: Time) -> u32 {
        (now.as_nanos() / 1_000_000) as u32
    }
}

/// ECN codepoint of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Ecn {
    /// The sender is not ECN-capable.
    #[default]
    NotEct,
    /// The sender is ECN-capable: ECT(0).
    Ect,
    /// A queue has marked the packet: congestion experienced.
    Ce,
}

/// The blocks of a SACK option (RFC 2018): three fit beside timestamps, and four without them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SackBlocks {
    blocks: [Range<u64>; SackBlocks::MOST],
    count: usize,
}

impl SackBlocks {
    /// The largest number of blocks in a segment: so many fit without timestamps.
    pub const MOST: usize = 4;

    /// Adds a block, if there is room for it.
    pub fn push(&mut self, block: Range<u64>) {
        if let Some(place) = self.blocks.get_mut(self.count) {
            *place = block;
            self.count += 1;
        }
    }

    /// The blocks in the order in which they are sent.
    pub fn as_slice(&self) -> &[Range<u64>] {
        &self.blocks[..self.count]
    }
}

impl FromIterator<Range<u64>> for SackBlocks {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(blocks: I) -> SackBlocks {
        let mut all = SackBlocks::default();
        blocks.into_iter().for_each(|block| all.push(block));
        all
    }
}

impl Segment {
    /// Sequence number after this segment.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.syn)
    }

    /// The SACK blocks; empty without the option.
    pub fn sack_blocks(&self) -> &[Range<u64>] {
        self.sack.as_deref().map_or(&[], SackBlocks::as_slice)
    }

    /// Length of the IP packet, bytes.
    pub fn ip_bytes(&self) -> u32 {
        let options = if self.syn {
            SYN_OPTIONS
        } else {
            let sack = match self.sack_blocks().len() as u32 {
                0 => 0,
                blocks => SACK_OPTION + SACK_BLOCK * blocks,
            };
            sack + self.timestamp.map_or(0, |_| TIMESTAMP_OPTION)
        };
        HEADERS + options + self.len
    }
}
