//! Tail loss probes: when no ACK comes for two round trips, the last segment is sent again so that
//! SACK tells what is missing (RFC 8985, section 7).

use kirikae_algorithms::CaState;
use kirikae_path::Time;

use super::Sender;
use super::ack::Ack;
use super::timer::{Purpose, TIMEOUT_MIN_US};
use super::transmit::Limit;
use crate::Segment;

/// The probe that is out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossProbe {
    /// `snd_nxt` when it was sent: TLP.end_seq. None: no probe is out.
    pub end_seq: Option<u64>,
    /// It was something sent again: TLP.is_retrans.
    pub retransmission: bool,
}

impl Sender {
    /// Sets the probe timer where a probe may be due; whether it runs now.
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        if !self.profile.tail_loss_probe
            || !self.uses_rack()
            || self.packets_out() == 0
            || !matches!(self.state(), CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let mut wait_us = match self.socket.fields.srtt_us {
            0 => self.profile.rto_initial.as_nanos() / 1000,
            srtt_8 => {
                // One segment alone may wait for the receiver's delayed ACK.
                let alone = self.packets_out() == 1;
                u64::from(srtt_8 >> 2)
                    + if alone { u64::from(self.rto_min_us()) } else { TIMEOUT_MIN_US }
            }
        };
        // Not later than the timeout, which runs from the first segment in flight.
        let timeout_us = if advancing { self.rto_us() } else { self.until_timeout_us() };
        if timeout_us > 0 {
            wait_us = wait_us.min(timeout_us);
        }
        self.set_timer(Purpose::Probe, wait_us);
        true
    }

    /// The probe timer goes off.
    pub(super) fn send_loss_probe(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.probe.end_seq.is_none() {
            self.probe.retransmission = false;
            let before = self.packets_out();
            let unit = (self.written - self.nxt).min(self.mss.into());
            let sent = if unit > 0 && self.window_end() >= self.nxt + unit {
                self.transmit_new_within(now, Limit::OneProbe, out);
                self.packets_out() > before
            } else {
                self.probe.retransmission = self.retransmit_last(now, out);
                self.probe.retransmission
            };
            if sent {
                self.probe.end_seq = Some(self.nxt);
                self.clear_timer();
            }
        }
        self.rearm_retransmission();
    }

    /// What an ACK tells of the probe that is out (section 7.4).
    pub(super) fn probe_acked(&mut self, segment_ack: u64, ack: &Ack) {
        let Some(end_seq) = self.probe.end_seq else { return };
        if segment_ack < end_seq {
            return;
        }
        if !self.probe.retransmission || ack.dsack_of_probe {
            // New data was ACKed, or both the original and the probe arrived.
            self.probe.end_seq = None;
        } else if segment_ack > end_seq {
            // Only one of the two arrived: there was a loss, which the probe has repaired.
            self.begin_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.try_keep_open();
        } else if !(ack.una_advanced || ack.is_not_duplicate() || ack.data_sacked) {
            self.probe.end_seq = None; // a duplicate ACK for the probe
        }
    }
}
