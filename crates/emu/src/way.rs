//! One direction of an emulated link: its elements, and what is noted of the packets.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use kirikae_path::{Chain, Dropped, Ecn, ElementSpec, Packet, Span, Time};
use kirikae_vocabulary::{DirectionReport, DroppedPacket};

use crate::mover::Parcel;
use crate::namespace::MTU;
use crate::timing::timing_error;

/// The fate of a packet in a link: it leaves, or is dropped.
pub(crate) type Fate = Result<Packet<Parcel>, Dropped<Parcel>>;

/// One direction of a link.
pub(crate) struct Way {
    chain: Chain<Parcel>,
    late_limit: Span,
    late: u64,
    /// Actual minus due time of each write, in nanoseconds.
    timing_error: Histogram<u64>,
    /// Packets that left it, for the next link or a device.
    pub delivered: u64,
    /// Packets that its elements dropped.
    pub drops: Vec<DroppedPacket>,
}

impl Way {
    pub fn new(spec: &[ElementSpec], chain: Chain<Parcel>) -> Way {
        const LONGEST: u64 = 3_600_000_000_000;
        Way {
            chain,
            late_limit: late_limit(spec),
            late: 0,
            timing_error: Histogram::new_with_max(LONGEST, 3).expect("valid bounds"),
            delivered: 0,
            drops: Vec::new(),
        }
    }

    /// When [`advance`](Way::advance) has something to do, if no packet enters before.
    pub fn next(&self) -> Option<Time> {
        self.chain.next()
    }

    /// Lets everything happen that is due until `now`; `sink` gets what leaves.
    pub fn advance(&mut self, now: Time, sink: impl FnMut(Time, Fate)) {
        self.chain.advance(now, sink);
    }

    /// Lets a packet of so many bytes enter; `sink` gets what leaves meanwhile.
    pub fn enqueue(
        &mut self,
        now: Time,
        bytes: u32,
        ecn: Ecn,
        parcel: Parcel,
        sink: impl FnMut(Time, Fate),
    ) {
        self.chain.enqueue(now, bytes, ecn, parcel, sink);
    }

    /// Notes that a packet was written so much later than it left.
    pub fn written(&mut self, error: Span) {
        self.timing_error.saturating_record(error.as_nanos());
        self.late += u64::from(error > self.late_limit);
    }

    /// Returns what happened, and each packet that was dropped.
    pub fn report(self, device_drops: u64) -> (DirectionReport, Vec<DroppedPacket>) {
        let mut dropped = BTreeMap::new();
        for drop in &self.drops {
            *dropped.entry(drop.cause).or_insert(0) += 1;
        }
        let report = DirectionReport {
            offered: self.chain.offered(),
            delivered: self.delivered,
            dropped,
            inside: self.chain.inside(),
            device_drops,
            timing_error: timing_error(&self.timing_error),
            late_limit_us: self.late_limit.as_nanos() as f64 / 1e3,
            late: self.late,
        };
        (report, self.drops)
    }
}

/// See [`DirectionReport::late_limit_us`].
fn late_limit(spec: &[ElementSpec]) -> Span {
    let serialisation = kirikae_path::bottleneck(spec)
        .map_or(0, |bits_per_second| u64::from(MTU) * 8 * 1_000_000_000 / bits_per_second);
    Span::from_millis(1).max(Span::from_nanos(serialisation))
}
