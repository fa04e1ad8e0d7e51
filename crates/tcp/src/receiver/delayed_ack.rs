//! Decides when to acknowledge: at once, or later and together with something else.

use kirikae_path::Time;

use super::Host;
use crate::segment::Segment;
use crate::timer_wheel::{expiry, in_ticks, span_of_ticks, ticks};

/// Segments ACKed one by one at the start and after trouble (`TCP_MAX_QUICKACKS`).
pub(super) const MAX_QUICK: u8 = 16;
/// The assumed segment size until one was seen (`TCP_MSS_DEFAULT`).
const DEFAULT_MSS: u32 = 536;
/// The least size of a full segment (`TCP_MIN_MSS`).
const MIN_MSS: u32 = 88;

/// The state of delayed ACKs: `icsk_ack` of the kernel.
///
/// Times are in ticks, in 32 bits, which is enough for 198 days at HZ 250.
#[derive(Clone, Debug)]
pub(super) struct DelayedAck {
    /// When the timer goes off, and the tick it was set for.
    expiry: Time,
    timeout: u32,
    /// How long an ACK waits, from the spacing of data; 0 before any data.
    ato: u32,
    /// When data came last.
    last_received: u32,
    /// Size of a full segment as estimated from what arrives, at most the MSS.
    pub rcv_mss: u32,
    /// Size of the last segment, if it may become the estimate.
    last_size: u32,
    /// ACKs still to be sent one by one.
    quick: u8,
    /// Whether data goes both ways in turns, so that an ACK waits for the answer that will carry it.
    ping_pong: bool,
    /// Whether an ACK is owed.
    pub scheduled: bool,
    /// Whether an ACK is owed at once.
    pub now: bool,
    /// Whether an ACK is owed when the timer goes off.
    timer: bool,
    /// Whether what is to be ACKed ended a write.
    pushed: bool,
    /// Whether another write has ended since.
    pushed_twice: bool,
}

impl DelayedAck {
    /// The state before anything was received; a segment has at most `mss` bytes.
    pub fn new(mss: u32) -> DelayedAck {
        DelayedAck {
            expiry: Time::ZERO,
            timeout: 0,
            ato: 0,
            last_received: 0,
            rcv_mss: mss.min(DEFAULT_MSS),
            last_size: 0,
            quick: 0,
            ping_pong: false,
            scheduled: false,
            now: false,
            timer: false,
            pushed: false,
            pushed_twice: false,
        }
    }

    /// The connection has begun, which counts as something received.
    pub fn synchronise(&mut self, now: Time, host: &Host) {
        self.last_received = ticks(now, host.profile.hz) as u32;
    }

    /// An ACK is owed and must not wait (`ICSK_ACK_NOW`).
    pub fn at_once(&mut self) {
        self.scheduled = true;
        self.now = true;
    }

    /// Data has come in order (`tcp_event_data_recv`): learns the size of full segments and their
    /// spacing. `window` is what the other end may send.
    pub fn data(&mut self, now: Time, segment: &Segment, window: u32, mss: u32, host: &Host) {
        self.scheduled = true;
        self.measure(segment, mss, host);
        let now = ticks(now, host.profile.hz) as u32;
        let (least, rto) = (least(host), in_ticks(host.rto, host.profile.hz) as u32);
        let gap = now.wrapping_sub(self.last_received);
        if self.ato == 0 {
            self.quicken(MAX_QUICK, window);
            self.ato = least;
        } else if gap <= least / 2 {
            self.ato = self.ato / 2 + least / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(rto);
        } else if gap > rto {
            // After so long a gap the sender is in slow start again, which needs every ACK.
            self.quicken(MAX_QUICK, window);
        }
        self.last_received = now;
    }

    /// `tcp_measure_rcv_mss`: the size of full segments, and whether a write ends here.
    fn measure(&mut self, segment: &Segment, mss: u32, host: &Host) {
        let before = std::mem::take(&mut self.last_size);
        if segment.len >= self.rcv_mss {
            self.rcv_mss = segment.len.min(mss);
            self.pushed |= segment.psh && host.profile.ack_full_push;
            return;
        }
        // A smaller segment is a full one if there is nothing to suggest that it ends a write, or
        // if it is not tiny and the one before had the same size.
        if segment.len >= DEFAULT_MSS || segment.len >= MIN_MSS && !segment.psh {
            self.last_size = segment.len;
            if segment.len == before {
                self.rcv_mss = segment.len;
                return;
            }
        }
        self.pushed_twice |= self.pushed;
        self.pushed = true;
    }

    /// ACKs segments one by one, at most `most` of them or half the window
    /// (`tcp_incr_quickack`).
    fn quicken(&mut self, most: u8, window: u32) {
        let half_window = match window / (2 * self.rcv_mss) {
            0 => 2,
            segments => segments.min(u32::from(most)) as u8,
        };
        self.quick = self.quick.max(half_window.min(most));
    }

    /// Sends quick ACKs, since something is wrong or new and the other end is to hear of it soon
    /// (`tcp_enter_quickack_mode`).
    pub fn enter_quick(&mut self, most: u8, window: u32, host: &Host) {
        self.quicken(most, window);
        self.ping_pong = false;
        self.ato = least(host);
    }

    /// The window has opened. The other end hears of it by one more quick ACK if their number is even.
    pub fn window_grew(&mut self) {
        self.quick |= 1;
    }

    /// Memory is short, so there are no more quick ACKs.
    pub fn stop_quick(&mut self) {
        self.quick = 0;
    }

    /// Whether an ACK that is owed must not wait, as far as is known here.
    pub fn is_urgent(&self) -> bool {
        self.now || self.quick > 0 && !self.ping_pong
    }

    /// Whether an ACK that is owed is worth sending when all data has been read (`tcp_cleanup_rbuf`): a write
    /// has ended, and no answer is expected to carry it.
    pub fn is_worth_sending(&self) -> bool {
        self.pushed_twice || self.pushed && !self.ping_pong
    }

    /// Lets an ACK wait, unless the timer of an earlier one is about to go off (`tcp_send_delayed_ack`).
    /// Returns whether to send it now.
    pub fn delay(&mut self, now: Time, host: &Host) -> bool {
        let hz = host.profile.hz;
        let longest = in_ticks(host.profile.delayed_ack_max, hz) as u32;
        let mut ato = self.ato;
        if ato > least(host) {
            let round_trip = host.srtt.map_or(longest, |srtt| in_ticks(srtt, hz) as u32);
            ato = ato.min(round_trip.max(least(host)));
        }
        // It must not be so long that the other end's shortest RTO would run out (`tcp_delack_max`).
        let rto_min = in_ticks(host.rto_min, hz) as u32;
        ato = ato.min(longest).min(rto_min.max(2) - 1);
        let tick = ticks(now, hz) as u32;
        if self.timer && self.timeout <= tick + ato / 4 {
            return true;
        }
        if !self.timer || tick + ato < self.timeout {
            self.timeout = tick + ato;
            self.expiry = expiry(now, span_of_ticks(ato.into(), hz), hz);
        }
        self.timer = true;
        false
    }

    /// When an ACK that waits is to be sent.
    pub fn timer(&self) -> Option<Time> {
        self.timer.then_some(self.expiry)
    }

    /// The timer has gone off (`tcp_delack_timer_handler`). Returns whether to send the ACK.
    pub fn on_timer(&mut self, now: Time, host: &Host) -> bool {
        if !self.timer || now < self.expiry {
            return false;
        }
        self.timer = false;
        if self.ping_pong {
            // No answer came that could have carried the ACK.
            self.ping_pong = false;
            self.ato = least(host);
        } else {
            self.ato = (self.ato * 2).min(in_ticks(host.rto, host.profile.hz) as u32);
        }
        self.scheduled
    }

    /// An ACK goes out, with or without data (`tcp_event_ack_sent`).
    pub fn ack_sent(&mut self, host: &Host) {
        if self.scheduled && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = least(host);
            }
        }
        self.scheduled = false;
        self.now = false;
        self.timer = false;
        self.pushed = false;
        self.pushed_twice = false;
    }

    /// Data goes out (`tcp_event_data_sent`). If that is soon after data came in, it is an answer.
    pub fn data_sent(&mut self, now: Time, host: &Host) {
        let now = ticks(now, host.profile.hz) as u32;
        self.ping_pong |= now.wrapping_sub(self.last_received) < self.ato;
    }
}

/// The shortest delay (`TCP_ATO_MIN` and `TCP_DELACK_MIN`).
fn least(host: &Host) -> u32 {
    in_ticks(host.profile.delayed_ack_min, host.profile.hz) as u32
}
