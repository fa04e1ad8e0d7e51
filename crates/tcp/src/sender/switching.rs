//! The switcher, called where the kernel calls it: when an RTT sample has come in, and when segments
//! were sent again.

use kirikae_algorithms::{Switch, Switcher};
use kirikae_path::Time;

use super::Sender;

/// What switches a connection, and what it did.
pub(super) struct Switching {
    pub switcher: Switcher,
    pub switches: Vec<(Time, Switch)>,
}

impl Sender {
    /// The switches so far, in order of time.
    pub fn switches(&self) -> &[(Time, Switch)] {
        self.switching.as_ref().map_or(&[], |switching| &switching.switches)
    }

    /// BPF_SOCK_OPS_RTT_CB
    pub(super) fn tell_rtt(&mut self) {
        let now = self.now();
        if let Some(switching) = &mut self.switching
            && let Some(switch) = switching.switcher.rtt_sample(&mut self.socket)
        {
            switching.switches.push((now, switch));
        }
    }

    /// BPF_SOCK_OPS_RTO_CB
    pub(super) fn tell_timeout(&mut self) {
        if let Some(switching) = &self.switching {
            switching.switcher.timed_out(&mut self.socket, self.timeouts);
        }
    }

    /// BPF_SOCK_OPS_RETRANS_CB, of one segment
    pub(super) fn tell_retransmission(&mut self, seq: u64, bytes: u32) {
        if let Some(switching) = &self.switching {
            switching.switcher.retransmitted(&mut self.socket, seq as u32, 1, bytes);
        }
    }
}
