//! The congestion window while the application is the limit. It grows only if it was the limit (RFC 7661),
//! and is cut if it was not used for long (RFC 5681, section 4.1; RFC 2861).

use kirikae_algorithms::{CaEvent, CaState};
use kirikae_path::{Span, Time};

use super::Sender;
use crate::Growth;
use crate::timer_wheel::{in_ticks, ticks};

impl Sender {
    /// The slow start threshold to return to: the present one if it has not been reached, or 3/4 of the
    /// window.
    pub(super) fn current_ssthresh(&self) -> u32 {
        let fields = &self.socket.fields;
        match self.state() {
            CaState::Cwr | CaState::Recovery => fields.snd_ssthresh,
            _ => fields.snd_ssthresh.max((fields.snd_cwnd >> 1) + (fields.snd_cwnd >> 2)),
        }
    }

    /// After sending, notes whether the window, and not the application, was the limit.
    pub(super) fn validate_window(&mut self, limited: bool) {
        let (una, nxt, now_us) = (self.una, self.nxt, self.now_us());
        let fields = &mut self.socket.fields;
        let was_limited = fields.is_cwnd_limited() != 0;
        if self.usage.is_flight_over(una)
            || limited
            || (!was_limited && fields.packets_out > fields.max_packets_out)
        {
            fields.set_is_cwnd_limited(limited.into());
            fields.max_packets_out = fields.packets_out;
            self.usage.note_flight(nxt);
        }
        if self.is_cwnd_limited() {
            self.usage.window_limits(now_us);
        } else {
            self.usage.application_limits(self.packets_out());
            if self.profile.idle_restart
                && self.usage.unused_for_us(now_us) >= self.rto_us()
                && !self.socket.algorithm().controls_alone()
            {
                self.application_limited();
            }
        }
    }

    /// Whether the window was the limit of the latest flight, or in slow start half of it was used.
    fn is_cwnd_limited(&self) -> bool {
        let fields = &self.socket.fields;
        if self.profile.growth == Growth::InFlight {
            return fields.packets_out >= fields.snd_cwnd;
        }
        fields.is_cwnd_limited() != 0
            || (fields.snd_cwnd < fields.snd_ssthresh
                && fields.snd_cwnd < 2 * fields.max_packets_out)
    }

    /// Notes for the algorithm whether so many segments in flight left next to nothing of the window: no more
    /// than may be reordered, or is held back for a larger train.
    pub(super) fn limit_by_flight(&mut self, in_flight: u32) {
        let left = self.cwnd().saturating_sub(in_flight);
        let held_back = self.profile.segmentation_offload && self.may_hold_back(left);
        let fields = &mut self.socket.fields;
        fields.set_is_cwnd_limited((left <= self.reordering.segments() || held_back).into());
        fields.max_packets_out = 0; // half of it used is not enough
    }

    /// The application used only part of the window during a retransmission timeout.
    fn application_limited(&mut self) {
        if self.state() == CaState::Open {
            let used = self.usage.take_used().max(self.profile.initial_window);
            if used < self.cwnd() {
                self.socket.fields.snd_ssthresh = self.current_ssthresh();
                self.set_cwnd((self.cwnd() + used) >> 1);
            }
        }
        self.usage.window_changed(self.now_us());
    }

    /// After idle time, halves the window for each retransmission timeout that has passed, down to the
    /// initial window.
    pub(super) fn idle_restart(&mut self, now: Time) {
        if !self.profile.idle_restart || self.socket.algorithm().controls_alone() {
            return;
        }
        // Time is counted in ticks, as in the kernel.
        let hz = self.profile.hz;
        let idle = ticks(now, hz) - ticks(self.last_sent, hz);
        let rto = in_ticks(Span::from_nanos(self.rto_us() * 1000), hz);
        if idle <= rto {
            return;
        }
        self.socket.cwnd_event(CaEvent::CwndRestart);
        self.socket.fields.snd_ssthresh = self.current_ssthresh();
        let mut cwnd = self.cwnd();
        let restart = self.profile.initial_window.min(cwnd);
        let mut left = idle - rto;
        while left > 0 && cwnd > restart {
            cwnd >>= 1;
            left = left.saturating_sub(rto);
        }
        self.set_cwnd(cwnd.max(restart));
        self.usage.window_limits(self.now_us());
    }
}
