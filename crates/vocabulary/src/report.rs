//! What a path has to say about itself: a simulated one, or an emulated one, which may be late.

use std::collections::BTreeMap;

use kirikae_path::{Direction, DropCause};
use serde::{Deserialize, Serialize};

use crate::Segment;

/// What happened on a path, and how well it kept time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// From the sender to the receiver.
    pub forward: DirectionReport,
    /// From the receiver back to the sender.
    pub backward: DirectionReport,
    /// Every packet that the path's elements dropped, in order of time within each direction.
    pub drops: Vec<DroppedPacket>,
    /// Whether the emulator kept up in both directions: no device queue overflowed, and at most 1 %
    /// of the packets were written later than [`DirectionReport::late_limit_us`] after their time.
    /// If it did not, the path did not behave as described.
    pub held: bool,
}

/// One direction of a [`Report`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DirectionReport {
    /// Packets that entered.
    pub offered: u64,
    /// Packets that left.
    pub delivered: u64,
    /// Packets that the elements dropped, by cause.
    pub dropped: BTreeMap<DropCause, u64>,
    /// Packets still under way when the path was taken down.
    pub inside: u64,
    /// Packets lost before the path, where whoever plays the path did not read the device in time; 0 in virtual time.
    pub device_drops: u64,
    /// How much later than its time a packet was written.
    pub timing_error: TimingError,
    /// What counts as late: one serialisation time of the largest packet at the bottleneck, at
    /// least 1 ms. In microseconds.
    pub late_limit_us: f64,
    /// Packets later than that.
    pub late: u64,
}

impl DirectionReport {
    /// See [`Report::held`].
    pub fn held(&self) -> bool {
        self.device_drops == 0 && self.late * 100 <= self.delivered
    }
}

/// Actual less due time of a direction's writes, in microseconds; 0 if there were none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TimingError {
    /// The median in microseconds.
    pub p50_us: f64,
    /// The 99th percentile in microseconds.
    pub p99_us: f64,
    /// The largest in microseconds.
    pub max_us: f64,
}

/// A packet that the path dropped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DroppedPacket {
    /// When the element dropped it, in nanoseconds of CLOCK_MONOTONIC.
    pub monotonic_ns: u64,
    /// The direction in which it went.
    pub direction: Direction,
    /// Its number in that direction, from 0.
    pub number: u64,
    /// Why it was dropped.
    pub cause: DropCause,
    /// The TCP segment in it, if it was one.
    pub segment: Option<Segment>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(late: u64, device_drops: u64) -> DirectionReport {
        DirectionReport {
            offered: 203,
            delivered: 200,
            dropped: BTreeMap::from([(DropCause::QueueFull, 2), (DropCause::Listed, 1)]),
            inside: 0,
            device_drops,
            timing_error: TimingError { p50_us: 20.0, p99_us: 90.0, max_us: 1_500.0 },
            late_limit_us: 1_000.0,
            late,
        }
    }

    #[test]
    fn up_to_one_percent_late_is_held() {
        assert!(direction(2, 0).held());
        assert!(!direction(3, 0).held());
        assert!(!direction(0, 1).held());
    }

    #[test]
    fn a_direction_reads_well_as_json() {
        assert_eq!(
            serde_json::to_string(&direction(2, 0)).unwrap(),
            r#"{"offered":203,"delivered":200,"dropped":{"listed":1,"queue_full":2},"inside":0,"#
                .to_owned()
                + r#""device_drops":0,"timing_error":{"p50_us":20.0,"p99_us":90.0,"#
                + r#""max_us":1500.0},"late_limit_us":1000.0,"late":2}"#
        );
    }
}
