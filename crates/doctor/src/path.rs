//! The path that is asked about.

use serde::Serialize;

use crate::Connection;

/// The source of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The operator gave it.
    Given,
    /// It was measured on connections to the destination.
    Measured,
    /// It is assumed, since it was neither given nor measured.
    Assumed,
}

/// A figure with its source.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Known {
    /// The figure.
    pub value: f64,
    /// Its source.
    pub source: Source,
}

/// A path, as far as it is known.
#[derive(Clone, Debug, Serialize)]
pub struct Path {
    /// Rate of its bottleneck, bit/s.
    pub rate: Known,
    /// Round-trip time without waiting, s.
    pub rtt: Known,
    /// Share of the packets (0 to 1) that are lost one by one; None if nothing is known of it.
    pub loss: Option<Known>,
    /// Size of what is written at once where latency counts, bytes.
    pub burst: u32,
}

/// The assumed path: a home's access to a server across an ocean.
const RATE: f64 = 100e6;
const RTT: f64 = 0.1;
/// Number of segments with data from which on the share of retransmitted ones is taken for a loss rate.
const ENOUGH_SEGMENTS: u32 = 1000;

impl Path {
    /// Makes a path from what is given (bit/s, s, probability, bytes). For the rest it takes what connections
    /// to the destination show.
    pub fn new(
        rate: Option<f64>,
        rtt: Option<f64>,
        loss: Option<f64>,
        burst: u32,
        connections: &[Connection],
    ) -> Path {
        let given = |value| Known { value, source: Source::Given };
        let measured = |value| Known { value, source: Source::Measured };
        let assumed = |value| Known { value, source: Source::Assumed };
        let least = connections.iter().map(|it| it.min_rtt_s).filter(|rtt| *rtt > 0.0);
        let least = least.reduce(f64::min);
        Path {
            rate: rate.map_or(assumed(RATE), given),
            rtt: rtt.map(given).or(least.map(measured)).unwrap_or(assumed(RTT)),
            loss: loss.map(given).or_else(|| retransmitted(connections).map(measured)),
            burst,
        }
    }

    /// The bandwidth-delay product, bytes.
    pub fn bandwidth_delay(&self) -> f64 {
        self.rate.value * self.rtt.value / 8.0
    }
}

/// Share of the segments that were retransmitted; None if too few were sent.
fn retransmitted(connections: &[Connection]) -> Option<f64> {
    let sent: u32 = connections.iter().filter_map(|it| it.data_segments_sent).sum();
    let again: u32 = connections.iter().map(|it| it.retransmitted).sum();
    (sent >= ENOUGH_SEGMENTS).then(|| f64::from(again) / f64::from(sent))
}
