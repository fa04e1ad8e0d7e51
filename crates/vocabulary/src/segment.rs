//! What is told of a TCP segment that a path lost.

use serde::{Deserialize, Serialize};

/// A TCP segment, as found in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// TCP source port.
    pub source_port: u16,
    /// TCP destination port.
    pub destination_port: u16,
    /// Whether it opens its side of a connection.
    pub syn: bool,
    /// Sequence number on the wire.
    pub sequence: u32,
    /// Bytes of data.
    pub payload_bytes: u32,
    /// Where its data begins in its side's byte stream, from 0, modulo 2^32: the sequence number
    /// less that of the first byte after the SYN. `None` if the path never saw the SYN.
    pub stream_offset: Option<u32>,
}
