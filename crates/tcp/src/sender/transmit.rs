//! Sends what was written, in trains as the kernel makes them, and paces it.

use kirikae_algorithms::{CaEvent, CaState};
use kirikae_path::Time;

use super::BOOT_NS;
use super::Sender;
use super::delivery_rate::at_sending;
use super::scoreboard::Sent;
use super::timers::Purpose;
use crate::{Ecn, Segment};

/// The largest piece into which a write is cut, bytes, in whole segments: what a GSO packet holds (sk_gso_max_size).
const WRITE_UNIT_MAX: u64 = 65_215;
/// Most bytes of a train.
const TRAIN_BYTES_MAX: u64 = 65_536;
/// Fewest segments of a train that is cut by the pacing rate (sysctl tcp_min_tso_segs).
const TRAIN_MIN: u32 = 2;
/// Trains are larger if the RTT is below a few times 2^9 us (sysctl tcp_tso_rtt_log).
const TRAIN_RTT_SHIFT: u32 = 9;
/// A part of the window below this share is held back for a larger train (tcp_tso_win_divisor), ...
const HOLD_BACK_DIVISOR: u64 = 3;
/// ... but not where the latest train left more than this ago, nanoseconds.
const HOLD_BACK_AFTER_NS: u64 = 1_000_000;
/// ... nor where the next ACK is further ahead than this, microseconds (Linux 6.18).
const HOLD_BACK_UNTIL_US: u64 = 1_000;
/// Number of segments at the beginning that always leave at once, unpaced.
const UNPACED: u32 = 10;

/// The limit of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// The congestion window.
    Window,
    /// One segment, whatever the window is: a probe.
    OneProbe,
}

impl Sender {
    /// Sequence number at which the receive window ends.
    pub(super) fn window_end(&self) -> u64 {
        self.una + u64::from(self.window.bytes())
    }

    /// The pieces into which a write is cut, bytes: no larger than half of the largest receive window so far
    /// (tcp_xmit_size_goal).
    pub(super) fn write_unit(&self) -> u64 {
        let mss = u64::from(self.mss);
        let half = u64::from(self.window.largest() / 2);
        (WRITE_UNIT_MAX.min(half) / mss).max(1) * mss
    }

    /// Sends what was written as far as window, receiver and pacing allow.
    pub(super) fn transmit_new(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.nxt < self.written {
            self.transmit_new_within(now, Limit::Window, out);
        }
    }

    /// Sends what was written within this limit, and notes whether the window was the limit.
    pub(super) fn transmit_new_within(&mut self, now: Time, limit: Limit, out: &mut Vec<Segment>) {
        let train = self.train_segments();
        let mss = u64::from(self.mss);
        let write_unit = self.write_unit();
        let mut held_back = false;
        let mut sent = 0;
        while self.nxt < self.written && !self.pacing_holds() {
            let in_flight = self.packets_in_flight();
            let quota = match limit {
                Limit::OneProbe => 1,
                // There are two trains at least, for a steadier flow.
                Limit::Window => {
                    self.cwnd().saturating_sub(in_flight).min((self.cwnd() >> 1).max(1))
                }
            };
            if quota == 0 {
                break;
            }
            let unit = (self.written - self.nxt).min(write_unit);
            let room = self.window_end().saturating_sub(self.nxt);
            if room < unit.min(mss) {
                break;
            }
            if unit > mss
                && limit == Limit::Window
                && self.holds_back(unit, room, train, &mut held_back)
            {
                break;
            }
            let most = u64::from(quota.min(train)) * mss;
            let bytes = match most.min(unit) {
                bytes if bytes <= room => bytes,
                _ => room - room % mss, // whole segments only into a window that ends
            };
            sent += self.send(now, bytes, out);
            if limit == Limit::OneProbe {
                break;
            }
        }
        if self.nxt < self.written && self.packets_out() == 0 && self.timers.purpose().is_none() {
            self.await_window();
        }
        let limited = held_back || self.packets_in_flight() >= self.cwnd();
        if sent > 0 || limited {
            self.validate_window(limited);
        }
        if sent > 0 {
            if self.in_reduction() {
                self.prr.count_sent(sent);
            }
            if limit == Limit::Window {
                self.schedule_loss_probe(false);
            }
        }
    }

    /// Sends one train of new data; returns the number of its segments.
    pub(super) fn send(&mut self, now: Time, bytes: u64, out: &mut Vec<Segment>) -> u32 {
        let before = self.packets_out();
        let sent_us = self.departs(now, bytes as u32);
        let end = self.nxt + bytes;
        let mut segments = 0;
        while self.nxt < end {
            let len = (end - self.nxt).min(self.mss.into()) as u32;
            let at_sending = at_sending(&mut self.socket, sent_us);
            self.board.push(Sent::new(self.nxt, len, sent_us, at_sending));
            let (ecn, cwr) = if self.ecn.capable {
                (Ecn::Ect, std::mem::take(&mut self.ecn.owes_cwr))
            } else {
                (Ecn::NotEct, false)
            };
            let seq = self.nxt;
            self.nxt += u64::from(len);
            let psh = self.nxt == self.written;
            out.push(Segment { seq, len, psh, ecn, cwr, ..Segment::default() });
            segments += 1;
            self.socket.fields.packets_out += 1;
        }
        self.socket.fields.snd_nxt = self.nxt as u32;
        if before == 0 || self.timers.purpose() == Some(Purpose::Probe) {
            self.rearm_retransmission();
        }
        segments
    }

    /// Notes that a train of `bytes` leaves: tells the algorithm of the first after idle time, and updates
    /// counts and pacing. Returns when it leaves, microseconds.
    pub(super) fn departs(&mut self, now: Time, bytes: u32) -> u64 {
        let fields = &mut self.socket.fields;
        let earlier_ns = fields.tcp_wstamp_ns;
        fields.tcp_wstamp_ns = earlier_ns.max(fields.tcp_clock_cache);
        let sent_ns = fields.tcp_wstamp_ns;
        self.tell_segment();
        if self.packets_in_flight() == 0 {
            self.socket.cwnd_event(CaEvent::TxStart);
        }
        self.last_sent = now;
        let segments = self.segments(bytes.into());
        let pacing = self.socket.pacing();
        let fields = &mut self.socket.fields;
        fields.lsndtime_us = fields.tcp_mstamp;
        fields.data_segs_out += segments;
        fields.bytes_sent += u64::from(bytes);
        if let Some(rate) = pacing.filter(|rate| *rate > 0 && *rate < u64::MAX)
            && fields.data_segs_out >= UNPACED
        {
            let mut gap_ns = u64::from(bytes) * 1_000_000_000 / rate;
            // If a timer came late, the delay is made up for, but by half of the gap at most.
            gap_ns -= (gap_ns / 2).min(sent_ns - earlier_ns);
            fields.tcp_wstamp_ns += gap_ns;
        }
        sent_ns / 1000
    }

    /// Whether pacing holds everything back now; a timer tells when it ends.
    pub(super) fn pacing_holds(&mut self) -> bool {
        let fields = &self.socket.fields;
        if self.socket.pacing().is_none() || fields.tcp_wstamp_ns <= fields.tcp_clock_cache {
            return false;
        }
        self.timers.pacing = Some(Time::from_nanos(fields.tcp_wstamp_ns - BOOT_NS));
        true
    }

    /// Sends the next train when pacing allows it.
    pub(super) fn pacing_elapsed(&mut self, now: Time, out: &mut Vec<Segment>) {
        let fields = &self.socket.fields;
        if fields.lost_out > fields.retrans_out && fields.snd_cwnd > self.packets_in_flight() {
            self.retransmit_lost(now, out);
        }
        self.transmit_new(now, out);
    }

    /// Segments of a train: what the pacing rate sends in about a millisecond.
    pub(super) fn train_segments(&self) -> u32 {
        let sock = &self.socket.fields.inet_conn.icsk_inet.sk;
        let mut bytes = sock.sk_pacing_rate >> sock.sk_pacing_shift;
        let distance = self.min_rtt_us().unwrap_or(u32::MAX.into()) >> TRAIN_RTT_SHIFT;
        if distance < 32 {
            bytes += TRAIN_BYTES_MAX >> distance;
        }
        ((bytes.min(TRAIN_BYTES_MAX) / u64::from(self.mss)) as u32).max(TRAIN_MIN)
    }

    /// Whether a remainder of the window this small may have been held back for a larger train.
    pub(super) fn may_hold_back(&self, left: u32) -> bool {
        let left = u64::from(left);
        left * HOLD_BACK_DIVISOR < self.cwnd().into()
            && left * u64::from(self.mss) < TRAIN_BYTES_MAX
    }

    /// Whether to wait for the next ACK because a larger train could then go. `limited` is set if the
    /// congestion window is what limits.
    fn holds_back(&self, unit: u64, room: u64, train: u32, limited: &mut bool) -> bool {
        if !self.profile.segmentation_offload || self.state() >= CaState::Recovery {
            return false;
        }
        let fields = &self.socket.fields;
        if fields.tcp_clock_cache > fields.tcp_wstamp_ns + HOLD_BACK_AFTER_NS {
            return false;
        }
        let mss = u64::from(self.mss);
        let window = u64::from(self.cwnd().saturating_sub(self.packets_in_flight())) * mss;
        let limit = window.min(room);
        let whole = (u64::from(self.cwnd()) * mss).min(self.window.bytes().into());
        let last = self.nxt + unit == self.written;
        if limit >= u64::from(train) * mss
            || (!last && limit >= unit)
            || limit >= whole / HOLD_BACK_DIVISOR
        {
            return false;
        }
        // The next ACK is due a round trip after the oldest segment left. If that is far off, nothing is held
        // back.
        let Some(first) = self.board.first() else { return false };
        let due_us = (first.sent_us + self.srtt_us()).saturating_sub(fields.tcp_mstamp);
        if due_us > HOLD_BACK_UNTIL_US.min(self.srtt_us() / 2) {
            return false;
        }
        *limited |= window < room && window <= unit;
        true
    }
}
