//! What may switch a connection while it runs.

use crate::{Bpftune, PathMemory, Socket, Switch, Switcher};

/// A rule, told what a sock_ops program would be told. A clone for each connection.
#[derive(Clone, Debug)]
pub enum Rule {
    /// The table's.
    Switcher(Switcher),
    /// bpftune's.
    Bpftune(Bpftune),
}

impl Rule {
    /// See [`Switcher::set_path`].
    pub fn set_path(&mut self, memory: PathMemory, network: u64) {
        if let Rule::Switcher(switcher) = self {
            switcher.set_path(memory, network);
        }
    }

    /// The connection is established; its algorithm does not know of it yet.
    pub fn met(&mut self, socket: &mut Socket) -> Option<Switch> {
        match self {
            Rule::Switcher(switcher) => switcher.met(socket),
            Rule::Bpftune(_) => None,
        }
    }

    /// BPF_SOCK_OPS_RTT_CB, see [`Switcher::rtt_sample`].
    pub fn rtt_sample(&mut self, socket: &mut Socket, sample_us: u32) -> Option<Switch> {
        match self {
            Rule::Switcher(switcher) => switcher.rtt_sample(socket, sample_us),
            Rule::Bpftune(_) => None,
        }
    }

    /// BPF_SOCK_OPS_RTO_CB, see [`Switcher::timed_out`].
    pub fn timed_out(&mut self, socket: &mut Socket, earlier: u32) {
        if let Rule::Switcher(switcher) = self {
            switcher.timed_out(socket, earlier);
        }
    }

    /// BPF_SOCK_OPS_STATE_CB, see [`Switcher::state_changes`].
    pub fn state_changes(&mut self, socket: &mut Socket, to: u32) {
        if let Rule::Switcher(switcher) = self {
            switcher.state_changes(socket, to);
        }
    }

    /// BPF_SOCK_OPS_RETRANS_CB: `segments` from sequence number `seq` on were sent again, and are in
    /// `data_segs_out` and `bytes_retrans`.
    pub fn retransmitted(
        &mut self,
        socket: &mut Socket,
        seq: u32,
        segments: u32,
    ) -> Option<Switch> {
        match self {
            Rule::Switcher(switcher) => {
                switcher.retransmitted(socket, seq, segments);
                None
            }
            Rule::Bpftune(bpftune) => bpftune.retransmitted(socket, segments),
        }
    }

    /// Whether [`segment`](Rule::segment) is to be called.
    #[inline]
    pub fn wants_segments(&self) -> bool {
        matches!(self, Rule::Switcher(switcher) if switcher.wants_segments())
    }

    /// BPF_SOCK_OPS_HDR_OPT_LEN_CB, see [`Switcher::segment`].
    pub fn segment(&mut self, socket: &mut Socket) {
        if let Rule::Switcher(switcher) = self {
            switcher.segment(socket);
        }
    }
}
