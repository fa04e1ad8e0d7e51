//! The switcher, `bpf/switcher/`: a connection's life with it, by the code that runs in the kernel.

mod hooks;
mod parts;
mod path_memory;
mod replay;

use std::fmt;
use std::sync::Arc;

use kirikae_interface::{
    NAME_BYTES, latency_table, match_key, name_from_bytes, policy, thesis_table, warm_start,
};
use serde::Serialize;

use crate::c;
use crate::{Algorithm, Socket};
use hooks::{Host, SharedTables};

pub use parts::{
    Belief, BurstSpans, Estimator, LossRuns, Measured, Period, Predicted, RoundTripSeen, Span,
    Stream, ThesisMeasured, Told, exp2_fixed, given_up_after_ms, is_given_up_late, log2_fixed,
    period_us, scope_of, thesis_choose,
};
pub use path_memory::{PathKnown, PathMemory, path_network};
pub use replay::{CALL_RECORD_BYTES, CALL_RECORD_VERSION, Replay, ReplayError, Tables};

/// Switches a connection as the switcher in the kernel does. What is remembered of the connection is kept
/// in the socket. A clone, for another connection, shares policy and tables.
#[derive(Clone)]
pub struct Switcher {
    shared: Arc<Shared>,
    /// The policy that an operator has activated in place of the shared one; None: the shared one is active.
    policy: Option<Arc<policy>>,
    match_key: match_key,
    /// The host's path memory, and the network that the connection's path leads to; None: the host has none.
    path: Option<(PathMemory, u64)>,
    /// Whether the switcher is to be called before each segment.
    wants_segments: bool,
}

/// What connections have in common.
struct Shared {
    policy: Box<policy>,
    tables: SharedTables,
    thesis: Option<Box<thesis_table>>,
    candidates: Vec<Algorithm>,
}

/// A switch that was made, or by a policy that only observes, would have been; and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Switch {
    /// The algorithm left.
    pub from: Algorithm,
    /// The algorithm taken up.
    pub to: Algorithm,
    /// Whether it was only observed, and not made.
    pub observed: bool,
    /// Round-trip time: the lowest of late; by the thesis, the smoothed one.
    pub rtt_us: u32,
    /// Rate of the bottleneck, bytes per millisecond; 0: not known.
    pub rate: u32,
    /// Bytes of a burst; 0: not known.
    pub burst: u32,
    /// What a stream asks for, a share of the rate in 1/65536; 0: no stream.
    pub share: u32,
    /// Isolated losses per 10^9 segments sent, smoothed.
    pub isolated_ppb: u32,
    /// Burst losses per 10^9 segments sent, smoothed.
    pub burst_ppb: u32,
    /// Latency predicted for each candidate, in the table's order; none by a rule that predicts none,
    /// nor is loss measured there.
    pub predicted_us: Vec<(&'static str, u32)>,
    /// What was known of the path, where a new connection begins with that.
    #[serde(skip)]
    pub start: Option<warm_start>,
    /// Whether it was made because timeouts had come in a row.
    pub is_outage: bool,
}

/// What was lost on a connection since it was established, up to its latest measuring period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Segments with data that were sent.
    pub segments: u64,
    /// Segments lost in runs of at most 2.
    pub isolated: i64,
    /// Number of runs of at least 3 lost segments.
    pub bursts: i64,
}

/// The table chooses among an algorithm, of this name, that is no candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCandidate(pub String);

impl fmt::Display for NoCandidate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the table chooses among {}, which is no candidate", self.0)
    }
}

impl std::error::Error for NoCandidate {}

/// The algorithms that it switches among.
impl fmt::Debug for Switcher {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Switcher").field(&self.shared.candidates).finish()
    }
}

impl Switcher {
    /// `policy` with the tables that its scopes name by their places; without any, connections are
    /// measured and keep their algorithm. `candidates` are what the tables' names stand for, with
    /// their parameters.
    ///
    /// # Errors
    /// Fails if a name in a table is none of a candidate.
    ///
    /// # Panics
    /// Panics if a scope in use names a table that is not there.
    pub fn new(
        policy: Box<policy>,
        tables: Vec<Arc<latency_table>>,
        candidates: &[Algorithm],
    ) -> Result<Switcher, NoCandidate> {
        let named = |rule: &kirikae_interface::rule| policy.scope[rule.scope as usize].table;
        let is_there = |table: u32| tables.is_empty() || (table as usize) < tables.len();
        let rules = &policy.rule[..policy.rules as usize];
        assert!(rules.iter().map(named).all(is_there), "a scope names a table that is not there");
        for table in &tables {
            let ours = (0..).zip(table.names()).filter(|(column, _)| *column != table.stock);
            require(ours.map(|(_, name)| name), candidates)?;
        }
        let (tables, candidates) = (SharedTables::new(tables), candidates.to_vec());
        Ok(Switcher::of(Shared { policy, tables, thesis: None, candidates }))
    }

    /// R-TCP as published: chosen by the thesis' tables, the rest as above.
    ///
    /// # Errors
    /// Fails as [`new`](Switcher::new) does.
    pub fn thesis(
        policy: Box<policy>,
        table: Box<thesis_table>,
        candidates: &[Algorithm],
    ) -> Result<Switcher, NoCandidate> {
        require(table.names().into_iter(), candidates)?;
        let (tables, thesis) = (SharedTables::default(), Some(table));
        Ok(Switcher::of(Shared { policy, tables, thesis, candidates: candidates.to_vec() }))
    }

    /// One that never switches, and only measures.
    pub fn measuring(policy: Box<policy>) -> Switcher {
        Switcher::of(Shared {
            policy,
            tables: SharedTables::default(),
            thesis: None,
            candidates: Vec::new(),
        })
    }

    fn of(shared: Shared) -> Switcher {
        Switcher {
            shared: Arc::new(shared),
            policy: None,
            match_key: match_key::default(),
            path: None,
            wants_segments: false,
        }
    }

    /// Sets the connection's ends and cgroups, which rules may ask for.
    pub fn set_match_key(&mut self, match_key: match_key) {
        self.match_key = match_key;
    }

    /// Gives the host a path memory. `network` is what the remote end's address comes to in `path_key`; a
    /// connection knows it once it is met.
    pub fn set_path(&mut self, memory: PathMemory, network: u64) {
        self.path = Some((memory, network));
    }

    /// Makes another policy the active one, with the same tables. The connection follows with its next
    /// callback.
    pub fn activate(&mut self, policy: Arc<policy>) {
        self.policy = Some(policy);
    }

    fn policy(&self) -> &policy {
        self.policy.as_deref().unwrap_or(&self.shared.policy)
    }

    /// A connection is established. (A socket that is connected anew keeps what is remembered.) One
    /// whose program chose its algorithm itself (`icsk_ca_setsockopt`) is left alone. Switches where its path is
    /// known.
    pub fn met(&mut self, socket: &mut Socket) -> Option<Switch> {
        self.call(socket, c::BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB, [0; 3])
    }

    /// An iterator is at the connection: it is met, where it was not, or follows the policy.
    pub fn found(&mut self, socket: &mut Socket) {
        self.call(socket, c::CALL_FOUND, [0; 3]);
    }

    /// An ACK brought an RTT sample, the first of a round trip: to be called before the socket's srtt
    /// takes it up and before `pkts_acked`, as in the kernel. Switches where that is the choice.
    pub fn rtt_sample(&mut self, socket: &mut Socket, sample_us: u32) -> Option<Switch> {
        self.call(socket, c::BPF_SOCK_OPS_RTT_CB, [sample_us, 0, 0])
    }

    /// The retransmission timer has gone off, after `earlier` times in a row: to be called before
    /// the timeout is doubled.
    pub fn timed_out(&mut self, socket: &mut Socket, earlier: u32) {
        self.call(socket, c::BPF_SOCK_OPS_RTO_CB, [earlier, 0, 0]);
    }

    /// The socket is about to have another state, such as 1 where it is established (the kernel's
    /// net/tcp_states.h).
    pub fn state_changes(&mut self, socket: &mut Socket, to: u32) {
        self.call(socket, c::BPF_SOCK_OPS_STATE_CB, [0, to, 0]);
    }

    /// `segments` from sequence number `seq` on were sent again, and are in `bytes_retrans`.
    pub fn retransmitted(&mut self, socket: &mut Socket, seq: u32, segments: u32) {
        self.call(socket, c::BPF_SOCK_OPS_RETRANS_CB, [seq, segments, 0]);
    }

    /// Whether [`segment`](Switcher::segment) is to be called.
    #[inline]
    pub fn wants_segments(&self) -> bool {
        self.wants_segments
    }

    /// A segment with data is about to be sent, and not in flight yet.
    pub fn segment(&mut self, socket: &mut Socket) {
        self.call(socket, c::BPF_SOCK_OPS_HDR_OPT_LEN_CB, [0; 3]);
    }

    /// Restores what the connection had when it was met, as an agent that stops does: in Recovery
    /// and Loss only where it must be. Whether that was done.
    pub fn restore(&mut self, socket: &mut Socket, in_recovery_too: bool) -> bool {
        let host = Host::of(self, socket);
        host.is_some_and(|mut host| host.restore(in_recovery_too))
    }

    fn call(&mut self, socket: &mut Socket, op: u32, args: [u32; 3]) -> Option<Switch> {
        let from = socket.algorithm();
        let mut host = match op {
            c::BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB | c::BPF_SOCK_OPS_RTT_CB | c::CALL_FOUND => {
                Host::with_room(self, socket)
            }
            _ => Host::of(self, socket)?,
        };
        let callbacks = host.happened(&c::call { op, args });
        let switch = host.switch(from);
        drop(host);
        if callbacks != 0 {
            socket.fields.bpf_sock_ops_cb_flags = callbacks as u8;
            self.wants_segments = callbacks & c::BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG != 0;
        }
        switch
    }
}

/// That every name is one of a candidate.
fn require(
    mut names: impl Iterator<Item = String>,
    candidates: &[Algorithm],
) -> Result<(), NoCandidate> {
    let is_missing = |name: &String| candidates.iter().all(|it| it.name() != name.as_str());
    names.find(is_missing).map_or(Ok(()), |name| Err(NoCandidate(name)))
}

impl Shared {
    /// What an algorithm's name stands for: one of ours, or of the kernel's own.
    fn algorithm(&self, name: &[u8; NAME_BYTES]) -> Option<Algorithm> {
        let name = name_from_bytes(name);
        let candidate = self.candidates.iter().copied().find(|it| it.name() == name);
        candidate.or_else(|| Algorithm::stock(&name)).or_else(|| Algorithm::named(&name))
    }
}
