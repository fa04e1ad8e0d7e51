//! A switch of a connection, in either world.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// One switch of one connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub at_ns: u64,
    /// Local end.
    pub local: SocketAddr,
    /// Remote end.
    pub remote: SocketAddr,
    /// Inode of its network namespace; 0 in a simulation.
    pub namespace: u32,
    /// In-kernel name of the algorithm left.
    pub from: String,
    /// In-kernel name of the algorithm taken up.
    pub to: String,
    /// Why.
    pub reason: Reason,
    /// Whether it was only observed, and not made.
    pub observed: bool,
    /// Round-trip time, in seconds: the lowest of late.
    pub rtt_s: f64,
    /// Rate of the bottleneck, bit/s; none before it is known.
    pub rate_bit_s: Option<u64>,
    /// Bytes of a burst; none before the first is over.
    pub burst_bytes: Option<u32>,
    /// What a stream asks for, a share of the rate (0 to 1); none where it is none, or the table knows of
    /// none.
    pub stream_share: Option<f64>,
    /// Smoothed rate of isolated losses (0 to 1).
    pub isolated_loss: f64,
    /// Smoothed rate of burst losses (0 to 1).
    pub burst_loss: f64,
    /// L(i) of each candidate in seconds, by in-kernel name, smallest first.
    pub predicted_s: Vec<(String, f64)>,
}

/// Why a connection was switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The table predicts a smaller latency for the algorithm taken up.
    PredictedLatency,
    /// Too much was sent again, by bpftune's rule.
    RetransmitRate,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            Reason::PredictedLatency => "predicted-latency",
            Reason::RetransmitRate => "retransmit-rate",
        })
    }
}

/// `connection netns, where there is one, from -> to: reason: rtt, rate, burst, both loss rates; predicted latencies`
impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let predicted = self
            .predicted_s
            .iter()
            .map(|(name, latency)| format!("{name} {latency:.3} s"))
            .collect::<Vec<_>>()
            .join(", ");
        write!(
            f,
            "{} > {}  {}{} -> {}  {}{}: rtt {:.1} ms{}{}, isolated loss {}, burst loss {}; \
             predicted {predicted}",
            self.local,
            self.remote,
            match self.namespace {
                0 => String::new(),
                namespace => format!("netns {namespace}  "),
            },
            self.from,
            self.to,
            if self.observed { "observed, " } else { "" },
            self.reason,
            self.rtt_s * 1e3,
            self.rate_bit_s
                .map_or(String::new(), |rate| format!(", {:.1} Mbit/s", rate as f64 / 1e6)),
            self.written(),
            percent(self.isolated_loss),
            percent(self.burst_loss),
        )
    }
}

impl Switch {
    /// What the application writes.
    fn written(&self) -> String {
        match (self.stream_share, self.burst_bytes) {
            (Some(share), _) => format!(", a stream of {:.0} % of the rate", share * 100.0),
            (None, Some(bytes)) => format!(", bursts of {bytes} bytes"),
            (None, None) => String::new(),
        }
    }
}

fn percent(rate: f64) -> String {
    format!("{:.2} %", rate * 100.0)
}
