//! Switches as the kernel reports them: `struct switch_event` of `bpf/switcher/switch_event.h`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use kirikae_interface::{REASON_PREDICTED_LATENCY, address, name_from_bytes, switch_event};
use serde::{Deserialize, Serialize};
use zerocopy::FromBytes;

const PPB: f64 = 1e9;
const US: f64 = 1e6;

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
    /// Why it was switched.
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
    /// Too much was sent again, by bpftune's rule, which only the simulator has.
    RetransmitRate,
}

impl Reason {
    pub(crate) fn from_number(number: u32) -> Option<Reason> {
        (number == REASON_PREDICTED_LATENCY).then_some(Reason::PredictedLatency)
    }
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

/// The share of the rate that the kernel's number means; none for 0.
pub fn stream_share(share: u32) -> Option<f64> {
    (share > 0).then(|| f64::from(share) / f64::from(kirikae_interface::SHARE_ONE))
}

fn percent(rate: f64) -> String {
    format!("{:.2} %", rate * 100.0)
}

/// A `struct switch_event`; `names` are those of the columns of a scope's table, by the generation of
/// its policy and its number. None where it is none: the kernel's program is of another version.
pub fn decode(bytes: &[u8], names: impl FnOnce(u32, u32) -> Option<Vec<String>>) -> Option<Switch> {
    let (event, _) = switch_event::ref_from_prefix(bytes).ok()?;
    let mut predicted_s = names(event.generation, event.scope)?
        .into_iter()
        .zip(event.predicted_us.of)
        .filter(|(_, us)| *us > 0)
        .map(|(name, us)| (name, f64::from(us) / US))
        .collect::<Vec<_>>();
    predicted_s.sort_by(|a, b| a.1.total_cmp(&b.1));
    Some(Switch {
        at_ns: event.at_ns,
        local: socket_address(event.ends.local, event.ends.local_port),
        remote: socket_address(event.ends.remote, event.ends.remote_port),
        namespace: event.namespace,
        from: name_from_bytes(&event.from),
        to: name_from_bytes(&event.to),
        reason: Reason::from_number(event.reason)?,
        observed: event.is_observed != 0,
        rtt_s: f64::from(event.measured.rtt_us) / US,
        rate_bit_s: rate_bit_s(event.measured.rate),
        burst_bytes: (event.measured.burst > 0).then_some(event.measured.burst),
        stream_share: stream_share(event.measured.share),
        isolated_loss: f64::from(event.isolated_ppb) / PPB,
        burst_loss: f64::from(event.burst_ppb) / PPB,
        predicted_s,
    })
}

/// From bytes per millisecond, the switcher's unit; 0 is none.
pub fn rate_bit_s(bytes_per_ms: u32) -> Option<u64> {
    (bytes_per_ms > 0).then(|| u64::from(bytes_per_ms) * 8000)
}

/// IPv4 addresses are told as ::ffff:a.b.c.d.
pub(crate) fn socket_address(address: address, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V6(Ipv6Addr::from(address)).to_canonical(), port)
}
