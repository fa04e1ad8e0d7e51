//! What switches a connection, called where the kernel calls it: when an RTT sample has come in, and
//! when segments were sent again.

use kirikae_algorithms::{Rule, Switch};
use kirikae_path::Time;

use super::{BOOT_NS, Sender};

/// What switches a connection, and what it did.
pub(super) struct Switching {
    pub rule: Rule,
    pub switches: Vec<(Time, Switch)>,
}

impl Sender {
    /// The switches so far, in order of time.
    pub fn switches(&self) -> &[(Time, Switch)] {
        self.switching.as_ref().map_or(&[], |switching| &switching.switches)
    }

    /// BPF_SOCK_OPS_RTT_CB
    pub(super) fn tell_rtt(&mut self, sample_us: u32) {
        if let Some(switching) = &mut self.switching {
            let switch = switching.rule.rtt_sample(&mut self.socket, sample_us);
            self.note_switch(switch);
        }
    }

    /// BPF_SOCK_OPS_RTO_CB
    pub(super) fn tell_timeout(&mut self) {
        if let Some(switching) = &mut self.switching {
            // The timestamps' clock begins with the run, the kernel's with the host.
            let since_boot = |at: u32| at.wrapping_add((BOOT_NS / 1_000_000) as u32);
            self.socket.fields.retrans_stamp = self.undo.retransmitted_at.map_or(0, since_boot);
            switching.rule.timed_out(&mut self.socket, self.timeouts);
        }
    }

    /// BPF_SOCK_OPS_HDR_OPT_LEN_CB, where that is asked for
    #[inline]
    pub(super) fn tell_segment(&mut self) {
        if let Some(switching) = &mut self.switching
            && switching.rule.wants_segments()
        {
            switching.rule.segment(&mut self.socket);
        }
    }

    /// BPF_SOCK_OPS_RETRANS_CB, of one segment
    pub(super) fn tell_retransmission(&mut self, seq: u64) {
        if let Some(switching) = &mut self.switching {
            let switch = switching.rule.retransmitted(&mut self.socket, seq as u32, 1);
            self.note_switch(switch);
        }
    }

    /// Setting TCP_CONGESTION forgets the threshold that an undo would restore.
    fn note_switch(&mut self, switch: Option<Switch>) {
        let now = self.now();
        if let (Some(switching), Some(switch)) = (&mut self.switching, switch) {
            if !switch.observed {
                self.undo.prior_ssthresh = 0;
            }
            switching.switches.push((now, switch));
        }
    }
}
