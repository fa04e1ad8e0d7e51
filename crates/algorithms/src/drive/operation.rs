//! What a driven connection may meet.

use crate::Algorithm;

/// Something that a connection meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An ACK comes in.
    Ack {
        /// Segments that it ACKs cumulatively; as far as they are in flight.
        segments: u32,
        /// Segments that it SACKs beyond.
        sacked: u32,
        /// Its RTT sample.
        rtt_us: Option<u32>,
        /// Time since whatever was before.
        after_us: u32,
        /// Whether the program writes so much that the window is the limit.
        limited: bool,
    },
    /// What is in flight is ACKed at an even pace, and as much sent again, several times.
    Flights {
        /// How many round trips.
        count: u8,
        /// ACKs in each, at most.
        acks: u8,
        /// How long each takes; the RTT of the first ACK is that, of each later one 1/256 more.
        rtt_us: u32,
        /// As with [`Operation::Ack`].
        limited: bool,
    },
    /// A loss is found by what the receiver SACKs.
    FastRetransmit,
    /// The retransmission timer expires, with so many segments not held for lost.
    Timeout {
        /// Segments still in flight.
        left: u32,
    },
    /// The receiver echoes a congestion mark.
    CongestionMark,
    /// Segments are reordered, or an ACK ends that.
    Disorder,
    /// Everything that was in flight at the latest loss is ACKed.
    Recover,
    /// The latest loss proves to have been none.
    Undo,
    /// All is ACKed, and then nothing happens for so long.
    Idle {
        /// Until the program writes again.
        gap_us: u64,
        /// Buffers written until the first segment leaves.
        writes: u8,
    },
    /// For a retransmission timeout the program used so many segments of the window.
    ApplicationLimited {
        /// How many segments of the window were used.
        used: u32,
    },
    /// The path takes segments of this size now.
    Mss {
        /// The segment size in bytes.
        bytes: u32,
    },
    /// The program sets SO_MAX_PACING_RATE.
    PacingLimit {
        /// Bytes per second.
        most: u32,
    },
    /// The lowest RTT has left the kernel's window of 5 minutes.
    ForgetRtt,
    /// The algorithm is changed.
    Switch {
        /// To this one.
        to: Algorithm,
    },
}
