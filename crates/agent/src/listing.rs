//! The connections that the switcher remembers, as they are now: `struct listed` of
//! `bpf/interface/listed.h`.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::os::fd::AsFd;

use kirikae_interface::{
    CONNECTION_LEFT_ALONE, CONNECTION_REFUSED, listed, name_from_bytes, rate_bit_s,
};
use kirikae_policy::Policy;
use kirikae_vocabulary::Reason;
use libbpf_rs::{IterOpts, Link, MapHandle, MapIterOpts, Object};
use serde::{Deserialize, Serialize};
use zerocopy::FromBytes;

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::event::{reason_from_number, socket_address};
use crate::iterator::read;
use crate::object;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/listing.bpf.o"));
/// The state of a socket that is no longer connected, but that its program still holds.
const TCP_CLOSE: u32 = 7;
const NOT_PACED: u64 = u64::MAX;

/// One connection that the switcher remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Local end.
    pub local: SocketAddr,
    /// Remote end.
    pub remote: SocketAddr,
    /// Inode of its network namespace.
    pub namespace: u32,
    /// Name of its scope; that of the policy before, as long as the connection has not followed the new one.
    /// None if the policy no longer names it.
    pub scope: Option<String>,
    /// What becomes of it.
    pub treatment: Treatment,
    /// In-kernel name of the algorithm in use.
    pub algorithm: String,
    /// The name of the algorithm that it had when it was met.
    pub original: String,
    /// The name of the algorithm that was chosen. If choices are only observed, it need not be the one in
    /// use.
    pub chosen: String,
    /// How often it was switched, or if choices are only observed, how many there were.
    pub switches: u32,
    /// The latest one, and why.
    pub latest_switch: Option<LatestSwitch>,
    /// Lowest recent round-trip time, seconds; 0 before it is known.
    pub rtt_s: f64,
    /// Smoothed round-trip time, seconds.
    pub srtt_s: f64,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments.
    pub ssthresh: u32,
    /// Payload of a segment, bytes.
    pub mss: u32,
    /// The rate at which it is paced, bit/s; None if it is not paced.
    pub pacing_rate_bit_s: Option<u64>,
    /// Smoothed rate of isolated losses (0 to 1).
    pub isolated_loss: f64,
    /// Smoothed rate of burst losses (0 to 1).
    pub burst_loss: f64,
    /// Rate of the bottleneck, bit/s; none before it is known.
    pub rate_bit_s: Option<u64>,
    /// Mean size of the recent bursts, bytes; None before the first is over.
    pub burst_bytes: Option<u32>,
    /// How long the latest burst took, seconds; None if there was none with this algorithm.
    pub burst_latency_s: Option<f64>,
    /// The stream that its program writes, each write before all of the last one has arrived; None for bursts
    /// and bulk.
    pub stream: Option<Stream>,
    /// What the table expects a burst, or a write of the stream, to take with the algorithm chosen, seconds.
    pub predicted_s: Option<f64>,
    /// The same with the algorithm that it had when it was met, if the table has that.
    pub predicted_original_s: Option<f64>,
    /// Payload sent, retransmissions included, bytes.
    pub bytes_sent: u64,
    /// How many of these bytes were sent again.
    pub bytes_retransmitted: u64,
}

impl Connection {
    /// How long the writes of its stream take, or how long the latest burst took, seconds.
    pub fn latency_s(&self) -> Option<f64> {
        self.stream.and_then(|stream| stream.latency_s).or(self.burst_latency_s)
    }
}

/// A stream (`bpf/switcher/core/streams.h`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// The rate at which its program writes, bit/s.
    pub demand_bit_s: u64,
    /// Mean time that a write takes with the algorithm in use, seconds; None before that is known.
    pub latency_s: Option<f64>,
    /// Bytes that are written and not ACKed.
    pub backlog_bytes: u32,
}

/// A switch in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatestSwitch {
    /// When it was, CLOCK_MONOTONIC in nanoseconds.
    pub at_ns: u64,
    /// Why it was switched.
    pub reason: Reason,
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// It is switched.
    Switched,
    /// It is only measured, for comparison.
    HeldBack,
    /// Choices are reported, and nothing is changed.
    Observed,
    /// Its program has chosen an algorithm itself.
    LeftAlone,
    /// The kernel has refused to switch it.
    Refused,
    /// The policy does not name it any more.
    OutOfScope,
}

impl Treatment {
    /// The name in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Treatment::Switched => "switched",
            Treatment::HeldBack => "held-back",
            Treatment::Observed => "observed",
            Treatment::LeftAlone => "left-alone",
            Treatment::Refused => "refused",
            Treatment::OutOfScope => "out-of-scope",
        }
    }
}

/// Policies by the generation in which they were active.
pub(crate) type Generations = HashMap<u32, Policy>;

/// The loaded iterator.
pub(crate) struct Listing {
    link: Link,
    _object: Object,
}

impl Listing {
    pub fn load(connections: &MapHandle) -> Result<Listing, Error> {
        const DOING: &str = "loading the listing of connections";
        let object = object::load(OBJECT, DOING, |object| object.share(CONNECTIONS, connections))?;
        let of_map = IterOpts::Map(MapIterOpts::from_fd(connections.as_fd()));
        let program = object.progs_mut().next().expect("listing.bpf.c has one program");
        let link = program.attach_iter_with_opts(of_map).doing(|| DOING.into())?;
        Ok(Listing { link, _object: object })
    }

    /// Every connection that is not closed, ordered by its ends.
    pub fn read(&self, policies: &Generations) -> Result<Vec<Connection>, Error> {
        let bytes = self.bytes()?;
        let mut connections: Vec<Connection> = all_in(&bytes)
            .filter(|listed| listed.state != TCP_CLOSE)
            .map(|listed| connection(listed, policies))
            .collect();
        connections.sort_by_key(|it| (it.namespace, it.local, it.remote));
        Ok(connections)
    }

    /// The policies under which there are connections.
    pub fn generations(&self) -> Result<HashSet<u32>, Error> {
        Ok(all_in(&self.bytes()?).map(|listed| listed.generation).collect())
    }

    fn bytes(&self) -> Result<Vec<u8>, Error> {
        read(&self.link).doing(|| "listing connections".to_owned())
    }
}

fn all_in(bytes: &[u8]) -> impl Iterator<Item = &listed> {
    bytes.chunks_exact(size_of::<listed>()).filter_map(|bytes| listed::ref_from_bytes(bytes).ok())
}

/// Describes a connection by the policy that it is under: that may be an earlier one until the connection has
/// followed.
fn connection(listed: &listed, policies: &Generations) -> Connection {
    let policy = policies.get(&listed.generation);
    let scope = policy.and_then(|policy| policy.scopes.get(listed.scope as usize));
    let known = |us: u32| (us > 0).then(|| f64::from(us) / 1e6);
    let (chosen, original) = (name_from_bytes(&listed.chosen), name_from_bytes(&listed.original));
    let predicted = |algorithm: &str| {
        let column = scope?.table.column_of(algorithm)?;
        known(listed.predicted_us.by_column[column])
    };
    Connection {
        local: socket_address(listed.ends.local, listed.ends.local_port),
        remote: socket_address(listed.ends.remote, listed.ends.remote_port),
        namespace: listed.namespace,
        scope: scope.map(|scope| scope.name.clone()),
        treatment: match scope {
            None => Treatment::OutOfScope,
            Some(_) if listed.flags & CONNECTION_LEFT_ALONE != 0 => Treatment::LeftAlone,
            Some(_) if listed.flags & CONNECTION_REFUSED != 0 => Treatment::Refused,
            Some(scope) if scope.observed => Treatment::Observed,
            Some(_) if listed.is_held_back != 0 => Treatment::HeldBack,
            Some(_) => Treatment::Switched,
        },
        algorithm: name_from_bytes(&listed.in_use),
        switches: listed.switches,
        latest_switch: reason_from_number(listed.reason)
            .map(|reason| LatestSwitch { at_ns: listed.latest_switch_ns, reason }),
        rtt_s: f64::from(listed.measured.rtt_us) / 1e6,
        srtt_s: f64::from(listed.srtt_us) / 1e6,
        cwnd: listed.cwnd,
        ssthresh: listed.ssthresh,
        mss: listed.mss,
        pacing_rate_bit_s: (listed.pacing_rate != NOT_PACED)
            .then(|| listed.pacing_rate.saturating_mul(8)),
        isolated_loss: f64::from(listed.isolated_ppb) / 1e9,
        burst_loss: f64::from(listed.burst_ppb) / 1e9,
        rate_bit_s: rate_bit_s(listed.measured.rate),
        burst_bytes: (listed.burst_bytes > 0).then_some(listed.burst_bytes),
        burst_latency_s: known(listed.burst_latency_us),
        stream: (listed.stream_demand > 0).then(|| Stream {
            demand_bit_s: u64::from(listed.stream_demand) * 8,
            latency_s: known(listed.stream_latency_us),
            backlog_bytes: listed.backlog,
        }),
        predicted_s: predicted(&chosen),
        predicted_original_s: predicted(&original),
        bytes_sent: listed.bytes_sent,
        bytes_retransmitted: listed.bytes_retrans,
        original,
        chosen,
    }
}
