//! The sender's timers: one that is for retransmission, for a tail loss probe or for RACK, and one for
//! pacing.

use kirikae_path::{Span, Time};

use super::Sender;
use crate::{Segment, timer_wheel};

/// The shortest timer of TCP in the kernel, microseconds (TCP_TIMEOUT_MIN_US).
pub(super) const TIMEOUT_MIN_US: u64 = 2_000;

/// The purpose of the timer, which has only one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Retransmission timeout (RFC 6298).
    Retransmission,
    /// RACK's reordering timeout (RFC 8985, section 6.3).
    Reordering,
    /// Tail loss probe (RFC 8985, section 7).
    Probe,
    /// Probe of a closed window (RFC 9293, section 3.8.6.1).
    Window,
}

/// When the timers go off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timers {
    set: Option<(Purpose, Time)>,
    /// When pacing allows the next segment; it is exact, as with a high-resolution timer.
    pub pacing: Option<Time>,
}

impl Timers {
    /// The purpose for which the timer is set, if it is set.
    pub fn purpose(&self) -> Option<Purpose> {
        self.set.map(|(purpose, _)| purpose)
    }
}

impl Sender {
    /// When [`on_timer`](Sender::on_timer) has something to do.
    pub fn timer(&self) -> Option<Time> {
        let timer = self.timers.set.map(|(_, at)| at);
        Time::earliest(timer, self.timers.pacing)
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.set_clock(now);
        if self.timers.pacing.is_some_and(|at| at <= now) {
            self.timers.pacing = None;
            self.pacing_elapsed(now, out);
        }
        if let Some((purpose, at)) = self.timers.set
            && at <= now
        {
            match purpose {
                Purpose::Retransmission => self.retransmission_timeout(now, out),
                Purpose::Reordering => self.reordering_timeout(now, out),
                Purpose::Probe => self.send_loss_probe(now, out),
                Purpose::Window => self.send_window_probe(now, out),
            }
        }
    }

    /// Sets the timer to go off after so many microseconds, and not for what it was set for before.
    pub(super) fn set_timer(&mut self, purpose: Purpose, delay_us: u64) {
        let fields = &self.socket.fields;
        // It counts from when pacing allows the latest segment.
        let held_ns = fields.tcp_wstamp_ns.saturating_sub(fields.tcp_clock_cache);
        let delay = Span::from_nanos(delay_us * 1000 + held_ns);
        self.timers.set = Some((purpose, timer_wheel::expiry(self.now(), delay, self.profile.hz)));
    }

    /// Stops the timer.
    pub(super) fn clear_timer(&mut self) {
        self.timers.set = None;
    }

    /// Sets the retransmission timer from now, or if another timer was set meanwhile, from when the first
    /// segment was sent.
    pub(super) fn rearm_retransmission(&mut self) {
        if self.packets_out() == 0 {
            return self.clear_timer();
        }
        let delay_us = match self.timers.purpose() {
            Some(Purpose::Reordering | Purpose::Probe) => self.until_timeout_us().max(1),
            _ => self.rto_us(),
        };
        self.set_timer(Purpose::Retransmission, delay_us);
    }

    /// Time until the first segment has been in flight for a retransmission timeout, microseconds; 0 if it
    /// has been.
    pub(super) fn until_timeout_us(&self) -> u64 {
        let sent_us = self.board.first().map_or(self.now_us(), |first| first.sent_us);
        (sent_us + self.rto_us()).saturating_sub(self.now_us())
    }
}
