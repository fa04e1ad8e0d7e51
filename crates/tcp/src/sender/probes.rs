//! Sends probes: of the end of a flight (RFC 8985, section 7), and of a closed window (RFC 9293, section
//! 3.8.6.1).

use kirikae_algorithms::CaState;
use kirikae_path::Time;

use super::Sender;
use super::ack::Ack;
use super::tail_loss_probe::{ProbeAck, ProbeTimeout};
use super::timers::{Purpose, TIMEOUT_MIN_US};
use super::transmit::Limit;
use crate::Segment;

impl Sender {
    /// Sets the timer of the tail loss probe if one may be due; returns whether it runs now. With `advancing`
    /// an ACK has just come, so that the timeout would run from now.
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        if !self.profile.tail_loss_probe
            || !self.uses_rack()
            || self.packets_out() == 0
            || !matches!(self.state(), CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let timeout = ProbeTimeout {
            srtt_8_us: self.rtt.srtt_8_us(),
            in_flight: self.packets_out(),
            ack_delay_us: self.rto_min_us().into(),
            slack_us: TIMEOUT_MIN_US,
            initial_us: self.profile.rto_initial.as_nanos() / 1000,
            until_timeout_us: if advancing { self.rto_us() } else { self.until_timeout_us() },
        };
        self.set_timer(Purpose::Probe, timeout.pto_us());
        true
    }

    /// The timer of the tail loss probe goes off: new data is sent, or the last segment again (RFC 8985,
    /// section 7.3).
    pub(super) fn send_loss_probe(&mut self, now: Time, out: &mut Vec<Segment>) {
        if !self.probe.is_out() {
            let before = self.packets_out();
            let unit = (self.written - self.nxt).min(self.mss.into());
            let is_new = unit > 0 && self.window_end() >= self.nxt + unit;
            let sent = if is_new {
                self.transmit_new_within(now, Limit::OneProbe, out);
                self.packets_out() > before
            } else {
                self.retransmit_last(now, out)
            };
            if sent {
                self.probe.sent(self.nxt, !is_new);
                self.clear_timer();
            }
        }
        self.rearm_retransmission();
    }

    /// Tells the probe that is out of an ACK. A loss that the probe repaired halves the window as any other
    /// loss does.
    pub(super) fn probe_acked(&mut self, ack: &Ack) {
        let repaired = self.probe.on_ack(ProbeAck {
            ack: ack.acked_to,
            has_dsack_of_probe: ack.dsack_of_probe,
            is_bare_duplicate: !(ack.una_advanced || ack.is_not_duplicate() || ack.data_sacked),
        });
        if repaired {
            self.begin_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.try_keep_open();
        }
    }

    /// Waits for the receiver's window, which lets nothing go while nothing is in flight.
    pub(super) fn await_window(&mut self) {
        let rto_min_us = self.profile.rto_min.as_nanos() / 1000; // whatever the socket has
        let wait_us = self.rto_us().max(rto_min_us) << self.window_probes.min(32);
        self.set_timer(Purpose::Window, wait_us.min(self.rto_max_us()));
    }

    /// Notes that the window has opened.
    pub(super) fn window_opened(&mut self) {
        if self.timers.purpose() == Some(Purpose::Window) {
            self.clear_timer();
            self.window_probes = 0;
        }
    }

    /// The timer of a closed window goes off: a segment with an old sequence number makes the receiver
    /// announce its window. The next wait is twice as long.
    pub(super) fn send_window_probe(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.clear_timer();
        if self.packets_out() > 0 || self.nxt == self.written {
            return;
        }
        self.transmit_new(now, out);
        if self.packets_out() > 0 {
            return;
        }
        // When the timer goes off, what fits is sent, however little it is.
        let room = self.window_end().saturating_sub(self.nxt);
        let fits = room.min(self.mss.into()).min(self.written - self.nxt);
        if fits > 0 {
            self.send(now, fits, out);
        } else {
            out.push(Segment { seq: self.una - 1, ..Segment::default() });
            self.window_probes += 1;
            self.await_window();
        }
    }
}
