//! The kernel's callbacks to a BPF program on a connection (BPF_SOCK_OPS_*_CB). By them a switcher learns of
//! the connection, and may give it another congestion control in mid-flight.

use kirikae_algorithms::{Rule, Socket, Switch};
use kirikae_path::Time;

use super::{BOOT_NS, Sender};

/// States of the kernel (net/tcp_states.h).
const FIN_WAIT1: u32 = 4;
const FIN_WAIT2: u32 = 5;

/// The switcher of a connection, and the switches made so far.
pub(super) struct SwitcherCallbacks {
    rule: Rule,
    switches: Vec<(Time, Switch)>,
}

impl SwitcherCallbacks {
    /// Tells the switcher of a connection, before its algorithm starts.
    pub fn new(mut rule: Rule, socket: &mut Socket, now: Time) -> SwitcherCallbacks {
        let switch = rule.met(socket);
        SwitcherCallbacks {
            rule,
            switches: switch.map(|switch| (now, switch)).into_iter().collect(),
        }
    }

    /// The switches so far, in order of time.
    pub fn switches(&self) -> &[(Time, Switch)] {
        &self.switches
    }
}

impl Sender {
    /// BPF_SOCK_OPS_RTT_CB: a round trip begins with this RTT sample.
    pub(super) fn tell_rtt(&mut self, sample_us: u32) {
        if let Some(callbacks) = &mut self.switcher {
            let switch = callbacks.rule.rtt_sample(&mut self.socket, sample_us);
            self.note_switch(switch);
        }
    }

    /// BPF_SOCK_OPS_RTO_CB: the retransmission timer has gone off.
    pub(super) fn tell_timeout(&mut self) {
        if let Some(callbacks) = &mut self.switcher {
            // The timestamps' clock begins with the run; the kernel's begins with the host.
            let since_boot = |at_ms: u32| at_ms.wrapping_add((BOOT_NS / 1_000_000) as u32);
            self.socket.fields.retrans_stamp =
                self.undo.retransmitted_at_ms().map_or(0, since_boot);
            callbacks.rule.timed_out(&mut self.socket, self.timeouts);
        }
    }

    /// BPF_SOCK_OPS_STATE_CB: the program has closed the connection.
    pub(super) fn tell_fin_wait_1(&mut self) {
        self.tell_state(FIN_WAIT1);
    }

    /// BPF_SOCK_OPS_STATE_CB: all that was written before the close is ACKed.
    pub(super) fn tell_fin_wait_2(&mut self) {
        self.tell_state(FIN_WAIT2);
    }

    fn tell_state(&mut self, to: u32) {
        if let Some(callbacks) = &mut self.switcher {
            callbacks.rule.state_changes(&mut self.socket, to);
        }
    }

    /// BPF_SOCK_OPS_HDR_OPT_LEN_CB, if the switcher asked for it: a segment is about to leave.
    #[inline]
    pub(super) fn tell_segment(&mut self) {
        if let Some(callbacks) = &mut self.switcher
            && callbacks.rule.wants_segments()
        {
            callbacks.rule.segment(&mut self.socket);
        }
    }

    /// BPF_SOCK_OPS_RETRANS_CB: one segment was sent again.
    pub(super) fn tell_retransmission(&mut self, seq: u64) {
        if let Some(callbacks) = &mut self.switcher {
            let switch = callbacks.rule.retransmitted(&mut self.socket, seq as u32, 1);
            self.note_switch(switch);
        }
    }

    /// Notes a switch that was made, or would have been. Setting TCP_CONGESTION forgets the threshold that an
    /// undo would restore.
    fn note_switch(&mut self, switch: Option<Switch>) {
        let now = self.now();
        if let (Some(callbacks), Some(switch)) = (&mut self.switcher, switch) {
            if !switch.observed {
                self.undo.forget_ssthresh();
            }
            callbacks.switches.push((now, switch));
        }
    }
}
