//! The receive window: how much the other end may send.

use kirikae_path::{Span, Time};

use super::FIRST_BYTE;
use crate::profile::Profile;
use crate::segment::Timestamp;

/// The largest window without scaling.
const UNSCALED_MAX: u32 = 65_535;
/// How many segments the application is assumed to read in the first round trip (`TCP_INIT_CWND`).
const INITIAL_READING: u32 = 10;
/// Segments smaller than this are not used to estimate how data fills the buffer.
const TELLING_BYTES: u32 = 128;
/// The factor with which a smoothed round trip is kept.
const SMOOTHING: u64 = 8;

/// The receive window. Buffers are counted in bytes of data: what the kernel reckons for the
/// overhead of packet buffers is left out.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The sequence number that was ACKed when the window was last told.
    wup: u64,
    /// The window that was told then, bytes.
    wnd: u32,
    /// The buffer, bytes: the largest window that is possible now.
    clamp: u32,
    /// The largest window to tell now; it grows as segments arrive (`rcv_ssthresh`).
    ssthresh: u32,
    /// Windows are multiples of 2 to this power.
    shift: u8,
}

impl Profile {
    /// The power of 2 by which windows are scaled (RFC 7323), so that the largest fits the field.
    pub fn window_scale(&self) -> u8 {
        let most = self.receive_window_max.max(self.receive_buffer);
        if self.window_scaling { (most.ilog2() - 15) as u8 } else { 0 }
    }
}

impl Window {
    /// The window of a SYN and the scale (`tcp_select_initial_window`).
    pub fn new(profile: &Profile, mss: u32) -> Window {
        let most = if profile.window_scaling { profile.receive_buffer } else { UNSCALED_MAX };
        let clamp = most.min(profile.receive_window_max);
        let at_first = profile.receive_buffer / 5 * 4;
        let whole = |bytes: u32| (bytes / mss).max(1) * mss;
        Window {
            wup: FIRST_BYTE,
            wnd: whole(clamp.min(UNSCALED_MAX)),
            clamp,
            ssthresh: whole(clamp.min(at_first).min(profile.receive_window_initial)),
            shift: profile.window_scale(),
        }
    }

    /// The sequence number up to which the other end knows that its data was ACKed.
    pub fn acked(&self) -> u64 {
        self.wup
    }

    /// The window as last told.
    pub fn told(&self) -> u32 {
        self.wnd
    }

    /// The part of that window that is left (`tcp_receive_window`).
    pub fn left(&self, rcv_nxt: u64) -> u32 {
        (self.wup + u64::from(self.wnd)).saturating_sub(rcv_nxt) as u32
    }

    /// Whether less than half of the buffer is free.
    pub fn is_short(&self, occupied: u64) -> bool {
        self.free(occupied) < self.clamp / 2
    }

    /// Whether the window told is so small that reading may double it.
    pub fn may_double(&self, rcv_nxt: u64) -> bool {
        u64::from(self.left(rcv_nxt)) * 2 <= u64::from(self.clamp)
    }

    /// Bytes of the buffer that are free.
    fn free(&self, occupied: u64) -> u32 {
        u64::from(self.clamp).saturating_sub(occupied) as u32
    }

    /// The window that fits (`__tcp_select_window`). It avoids silly windows (RFC 1122, section 4.2.3.3): it
    /// is 0 if there is no room for a segment.
    pub fn fitting(&self, occupied: u64, rcv_mss: u32) -> u32 {
        let mss = rcv_mss.min(self.clamp);
        let granule = 1 << self.shift;
        let mut free = self.free(occupied);
        if self.is_short(occupied) {
            free = free / granule * granule;
            if free < self.clamp / 16 || free < mss {
                return 0;
            }
        }
        free = free.min(self.ssthresh);
        if self.shift > 0 {
            return free.next_multiple_of(granule);
        }
        if self.wnd > free || self.wnd + mss <= free {
            free / mss * mss
        } else if mss == self.clamp && free > self.wnd + self.clamp / 2 {
            free
        } else {
            self.wnd
        }
    }

    /// The window to tell with an ACK up to `rcv_nxt`; its right edge never moves back
    /// (`tcp_select_window`).
    pub fn tell(&mut self, rcv_nxt: u64, occupied: u64, rcv_mss: u32) -> u32 {
        let kept = self.left(rcv_nxt).next_multiple_of(1 << self.shift);
        self.wnd = self.fitting(occupied, rcv_mss).max(kept);
        self.wup = rcv_nxt;
        self.wnd
    }

    /// Opens the window by two segments for one that has arrived, as far as the buffer goes
    /// (`tcp_grow_window`). Returns whether it did.
    pub fn open(&mut self, len: u32, mss: u32, occupied: u64) -> bool {
        let room = self.free(occupied).saturating_sub(self.ssthresh);
        if room == 0 || len < TELLING_BYTES {
            return false;
        }
        self.ssthresh += room.min(2 * mss.max(len));
        true
    }
}

/// Dynamic right-sizing (Fisk and Feng 2001): the buffer holds twice as much as the application reads in a
/// round trip, and leaves room for slow start.
#[derive(Clone, Debug)]
pub(super) struct RightSizing {
    /// The time since which reading is counted; then the bytes read since.
    since: Time,
    read: u32,
    /// The most read in a round trip.
    most_read: u32,
    /// Smoothed round trip in microseconds, times 8; 0: unknown.
    rtt_us_8: u32,
    /// The echo that gave the last sample.
    last_echo: u32,
    /// When a window's worth of data began to arrive, and where it ends.
    round_start: Time,
    round_end: u64,
}

impl RightSizing {
    /// The state before anything was read.
    pub fn new(window: &Window, mss: u32) -> RightSizing {
        RightSizing {
            since: Time::ZERO,
            read: 0,
            most_read: window.wnd.min(INITIAL_READING * mss),
            rtt_us_8: 0,
            last_echo: 0,
            round_start: Time::ZERO,
            round_end: 0,
        }
    }

    /// The other end's SYN has arrived: reading is counted from now.
    pub fn synchronise(&mut self, now: Time) {
        self.since = now;
    }

    /// The round trip from the receiver's view; zero before it is known.
    pub fn rtt(&self) -> Span {
        Span::from_nanos(u64::from(self.rtt_us_8) * 1_000 / SMOOTHING)
    }

    /// Takes an RTT sample from a full segment that echoes our clock anew (`tcp_rcv_rtt_measure_ts`). While
    /// `unread` data waits, samples would show the application's pace.
    pub fn echoed(&mut self, now: Time, echo: u32, unread: bool) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let sample = Timestamp::clock(now).wrapping_sub(echo).saturating_mul(1_000);
        if sample == 0 {
            return;
        }
        let scaled = sample.saturating_mul(SMOOTHING as u32);
        if self.rtt_us_8 == 0 || scaled < self.rtt_us_8 {
            self.rtt_us_8 = scaled;
        } else if !unread {
            self.rtt_us_8 = (self.rtt_us_8 - self.rtt_us_8 / 8).saturating_add(sample);
        }
    }

    /// Takes an RTT sample from the time in which a window's worth arrives; only the least of these counts
    /// (`tcp_rcv_rtt_measure`).
    pub fn arrived(&mut self, now: Time, rcv_nxt: u64, wnd: u32) {
        if self.round_end != 0 {
            if rcv_nxt < self.round_end {
                return;
            }
            let us = ((now - self.round_start).as_nanos() / 1_000).max(1);
            let scaled = u32::try_from(us * SMOOTHING).unwrap_or(u32::MAX);
            if self.rtt_us_8 == 0 || scaled < self.rtt_us_8 {
                self.rtt_us_8 = scaled;
            }
        }
        self.round_end = rcv_nxt + u64::from(wnd);
        self.round_start = now;
    }

    /// The application has read `bytes`; `unread` are left, and out-of-order data goes `ahead`
    /// beyond what is in order (`tcp_rcv_space_adjust`).
    pub fn read(
        &mut self,
        now: Time,
        bytes: u64,
        unread: u64,
        ahead: u64,
        window: &mut Window,
        most: u32,
    ) {
        self.read = u32::try_from(u64::from(self.read) + bytes).unwrap_or(u32::MAX);
        if self.rtt_us_8 == 0 || now - self.since < self.rtt() {
            return;
        }
        let read = u64::from(self.read).saturating_sub(unread) as u32;
        if read > self.most_read {
            // It grows by twice what reading grew by, because slow start doubles in each round trip.
            let (before, grown) = (u64::from(self.most_read), u64::from(read - self.most_read));
            let twice = 2 * u64::from(read);
            self.most_read = read;
            window.enlarge(twice + 2 * (twice * grown / before) + ahead, most);
        }
        self.read = 0;
        self.since = now;
    }

    /// Makes room for out-of-order data beside what arrives in a round trip.
    pub fn reordered(&self, ahead: u64, window: &mut Window, most: u32) {
        window.enlarge(2 * u64::from(self.most_read) + ahead, most);
    }
}

impl Window {
    /// A buffer of so many bytes, unless it is larger; it never shrinks (`tcp_rcvbuf_grow`).
    fn enlarge(&mut self, bytes: u64, most: u32) {
        let most = if self.shift > 0 { most } else { most.min(UNSCALED_MAX) };
        self.clamp = self.clamp.max(bytes.min(most.into()) as u32);
    }
}
