//! What applications do, as data.

use std::sync::Arc;

use kirikae_path::Span;
use serde::{Deserialize, Serialize};

use crate::simulation::End;
use crate::video::Video;

/// Something that an application does on its connection. A connection may carry several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// How long after the connection's SYN it begins.
    pub after: Span,
    /// What it does.
    pub workload: Workload,
}

/// What an application writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// The client writes at given times: bursts, or what was recorded of an application.
    Writes(Arc<[Write]>),
    /// The same, but none before all of the one before it has arrived.
    OneByOne(Arc<[Write]>),
    /// The client writes everything at once.
    Bulk {
        /// How many bytes, at least 1; without an end if there is no number.
        bytes: Option<u64>,
    },
    /// The client writes a file piece by piece, each when the kernel has taken all before it: what others
    /// write on the connection goes in between.
    File {
        /// How many bytes, at least 1; without an end if there is no number.
        bytes: Option<u64>,
        /// Bytes of a piece; at least 1.
        piece: u64,
    },
    /// The client writes a request, and the server its response as soon as it has all of it; then
    /// the client thinks, and asks again.
    Requests {
        /// Bytes of a request; at least 1.
        request: u64,
        /// Bytes of a response; at least 1.
        response: u64,
        /// From the last byte of a response to the next request.
        think: Interval,
        /// How many requests; at least 1.
        count: u32,
    },
    /// The client writes at a rate for a time and then nothing for a time, without end.
    OnOff {
        /// Bytes of one write; at least 1, and so many that there are at most [`MOST_WRITES`] a second.
        bytes: u64,
        /// The rate at which it writes while it does, in bit/s; at least 1.
        bits_per_second: u64,
        /// How long it writes; the mean is above 0.
        on: Interval,
        /// How long it pauses.
        off: Interval,
    },
    /// The client writes pictures, which the server reports.
    Video(Video),
    /// The server writes once, as soon as the connection is established. The client asks for it by opening the
    /// connection: the write counts from the SYN, with which the activity is to begin.
    Answer {
        /// How many bytes; at least 1.
        bytes: u64,
    },
}

/// A write of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// When it is due, counted from the beginning of its activity.
    pub at: Span,
    /// How many bytes; at least 1.
    pub bytes: u64,
}

/// A duration that comes again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interval {
    /// Always the same.
    Fixed(Span),
    /// Exponentially distributed, with this mean.
    Exponential(Span),
}

/// Most writes a second of an application that goes on and off.
pub const MOST_WRITES: u64 = 1_000_000;

impl Workload {
    /// Bursts of `bytes` at these times from the beginning of the activity, in order.
    pub fn bursts(bytes: u64, due: impl IntoIterator<Item = Span>) -> Workload {
        Workload::Writes(due.into_iter().map(|at| Write { at, bytes }).collect())
    }

    /// The end that writes without having been told anything on the connection.
    pub fn writer(&self) -> End {
        match self {
            Workload::Answer { .. } => End::Server,
            _ => End::Client,
        }
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let whole = |bytes: &[u64]| bytes.contains(&0).then_some("a write of 0 bytes");
        match self {
            Workload::Writes(writes) | Workload::OneByOne(writes) => {
                let early = writes.windows(2).any(|pair| pair[1].at < pair[0].at);
                let empty = writes.iter().any(|write| write.bytes == 0);
                let faults = [
                    (writes.is_empty(), "no writes"),
                    (early, "a write earlier than the one before it"),
                    (empty, "a write of 0 bytes"),
                ];
                faults.into_iter().find_map(|(is_so, fault)| is_so.then_some(fault))
            }
            Workload::Bulk { bytes } => whole(&[bytes.unwrap_or(1)]),
            Workload::File { bytes, piece } => whole(&[bytes.unwrap_or(1), *piece]),
            Workload::Requests { count: 0, .. } => Some("no requests"),
            Workload::Requests { request, response, .. } => whole(&[*request, *response]),
            Workload::OnOff { bits_per_second: 0, .. } => Some("a rate of 0 bit/s"),
            Workload::OnOff { bytes, bits_per_second, .. }
                if *bits_per_second / 8 / MOST_WRITES > *bytes =>
            {
                Some("more than a million writes a second")
            }
            Workload::OnOff { on, .. } if on.mean() == Span::ZERO => Some("no time to write in"),
            Workload::OnOff { bytes, .. } => whole(&[*bytes]),
            Workload::Video(video) => video.fault(),
            Workload::Answer { bytes } => whole(&[*bytes]),
        }
    }
}

impl Interval {
    /// The mean duration.
    pub fn mean(self) -> Span {
        match self {
            Interval::Fixed(span) | Interval::Exponential(span) => span,
        }
    }
}
