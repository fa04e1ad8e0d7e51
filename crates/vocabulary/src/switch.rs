//! A switch of a connection, in either world.

use std::fmt;
use std::net::SocketAddr;

use kirikae_interface::{rate_bit_s, warm_start};
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
    /// What was known of the path, where the connection begins with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownPath>,
}

/// What earlier connections have shown of the path that a connection begins with (RFC 9959).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownPath {
    /// How long ago they did, seconds.
    pub age_s: u32,
    /// The lowest round-trip time, seconds (`saved_rtt`).
    pub rtt_s: f64,
    /// The rate at which the path delivers, bit/s; none where it is not known.
    pub rate_bit_s: Option<u64>,
    /// What it carries in a round trip, bytes (`saved_cwnd`).
    pub window_bytes: u32,
    /// The window that the connection is to have instead of the initial one, bytes (`jump_cwnd`).
    pub jump_bytes: u32,
    /// Whether it has that from its first segment on, and not after Careful Resume's reconnaissance.
    pub is_first_flight: bool,
}

impl From<&warm_start> for KnownPath {
    fn from(start: &warm_start) -> KnownPath {
        KnownPath {
            age_s: start.age_s,
            rtt_s: f64::from(start.saved_rtt_us) / 1e6,
            rate_bit_s: rate_bit_s(start.rate),
            window_bytes: start.saved_cwnd,
            jump_bytes: start.jump_cwnd,
            is_first_flight: start.is_first_flight != 0,
        }
    }
}

impl fmt::Display for KnownPath {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let rate = self.rate_bit_s.map_or(String::new(), |rate| format!("{}, ", mbit_s(rate)));
        write!(
            f,
            "{} of {} bytes, since {} s ago the path had RTT {:.1} ms, {rate}{} bytes a round trip",
            if self.is_first_flight { "first flight" } else { "careful jump" },
            self.jump_bytes,
            self.age_s,
            self.rtt_s * 1e3,
            self.window_bytes,
        )
    }
}

fn mbit_s(rate_bit_s: u64) -> String {
    format!("{:.1} Mbit/s", rate_bit_s as f64 / 1e6)
}

/// Why a connection was switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The table predicts a smaller latency for the algorithm taken up.
    PredictedLatency,
    /// The connection is new, and begins with what earlier ones have shown of its path.
    WarmStart,
    /// Timeouts have come in a row, and the connection had an algorithm of the kernel's.
    Outage,
    /// Too much was sent again, by bpftune's rule.
    RetransmitRate,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            Reason::PredictedLatency => "predicted-latency",
            Reason::WarmStart => "warm-start",
            Reason::Outage => "outage",
            Reason::RetransmitRate => "retransmit-rate",
        })
    }
}

/// `connection netns, where there is one, from -> to: reason: rtt, rate, burst, both loss rates; predicted latencies`,
/// or in place of what follows the reason, what was known
impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{} > {}  {}{} -> {}  {}{}: ",
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
        )?;
        if let Some(known) = &self.known {
            return known.fmt(f);
        }
        let predicted = self
            .predicted_s
            .iter()
            .map(|(name, latency)| format!("{name} {latency:.3} s"))
            .collect::<Vec<_>>()
            .join(", ");
        write!(
            f,
            "rtt {:.1} ms{}{}, isolated loss {}, burst loss {}; predicted {predicted}",
            self.rtt_s * 1e3,
            self.rate_bit_s.map_or(String::new(), |rate| format!(", {}", mbit_s(rate))),
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
