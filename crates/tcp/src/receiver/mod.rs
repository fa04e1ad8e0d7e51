//! The receiver of a connection: what it acknowledges, when, and how much it lets in.
//!
//! It behaves as Linux 6.18 (net/ipv4/tcp_input.c and tcp_output.c; comments name the functions), with these
//! deliberate differences:
//!
//! 1. Memory is counted in bytes of data; there is neither overhead nor memory pressure.
//! 2. Sequence numbers do not wrap, so nothing protects against that (PAWS, RFC 7323, section 5).
//! 3. An application that reads at once has read before the decision whether to ACK. The kernel decides,
//!    wakes the application up and decides again.
//! 4. A SACK block that is not among the first two ends compression with an ACK that has the block; in the
//!    kernel that ACK leaves just before, and the block may wait for another.

mod delayed_ack;
mod out_of_order;
#[cfg(test)]
mod tests;
mod window;

use std::ops::Range;

use kirikae_path::{Span, Time};

use crate::profile::Profile;
use crate::segment::{Ecn, SackBlocks, Segment};
use crate::timer_wheel::{in_ticks, ticks};
use delayed_ack::{DelayedAck, MAX_QUICK};
use out_of_order::OutOfOrder;
use window::{RightSizing, Window};

/// Sequence number of the first byte of data; the SYN has the one before.
const FIRST_BYTE: u64 = 1;
/// ACKs sent at once after a sign of congestion, when the other end's window may be small.
const QUICK_AFTER_ECN: u8 = 2;
/// Duplicate ACKs of one hole that are not compressed (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES_AT_ONCE: u8 = 3;
/// How late the timer of compressed ACKs may be, and is (`tcp_comp_sack_slack_ns`).
const COMPRESSION_SLACK: Span = Span::from_nanos(100_000);
/// The least time between two answers to segments without data from outside the window
/// (`tcp_invalid_ratelimit`).
const ANSWER_EVERY: Span = Span::from_millis(500);

/// What a receiver must know of its own end.
#[derive(Clone, Copy)]
pub(crate) struct Host<'a> {
    /// How its TCP behaves.
    pub profile: &'a Profile,
    /// The sending half's smoothed round trip, once it has one.
    pub srtt: Option<Span>,
    /// The sending half's retransmission timeout.
    pub rto: Span,
    /// The least that the timeout allows for the variation of the RTT.
    pub rto_min: Span,
}

/// The receiving half of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Sequence number up to which all data has arrived.
    rcv_nxt: u64,
    /// Sequence number up to which the application has read.
    copied: u64,
    window: Window,
    sizing: RightSizing,
    acks: DelayedAck,
    /// Data beyond data in order; None usually.
    disorder: Option<Box<OutOfOrder>>,
    mss: u32,
    /// TS.Recent (RFC 7323, section 4.3).
    ts_recent: u32,
    /// The tick at which a segment from outside the window was last answered.
    answered: u32,
    /// Whether the application reads only when it says so, instead of at once.
    held: bool,
    /// Whether the window is closed because the link is about to go (Freeze-TCP).
    frozen: bool,
    /// Whether a segment was ECN-capable.
    ecn_seen: bool,
    /// Whether a segment had CE and none had CWR since. ACKs then have ECE (RFC 3168, section 6.1.3).
    demand_cwr: bool,
}

impl Receiver {
    /// The receiver of a connection whose SYN has not arrived.
    pub(crate) fn new(profile: &Profile, mss: u32) -> Receiver {
        let window = Window::new(profile, mss);
        Receiver {
            rcv_nxt: FIRST_BYTE,
            copied: FIRST_BYTE,
            sizing: RightSizing::new(&window, mss),
            window,
            acks: DelayedAck::new(mss),
            disorder: None,
            mss,
            ts_recent: 0,
            answered: 0,
            held: false,
            frozen: false,
            ecn_seen: false,
            demand_cwr: false,
        }
    }

    /// The other end's SYN has arrived.
    pub(crate) fn synchronise(&mut self, now: Time, segment: &Segment, host: &Host) {
        self.ts_recent = segment.timestamp.map_or(0, |timestamp| timestamp.value);
        self.sizing.synchronise(now);
        self.acks.synchronise(now, host);
    }

    /// Handles a segment. [`Receiver::reply`] then tells whether to send an ACK; it is called after the
    /// sender has had its turn, since data that it sends carries the ACK.
    pub(crate) fn receive(&mut self, now: Time, segment: &Segment, host: &Host) {
        self.note_timestamp(segment);
        if segment.len == 0 {
            self.receive_nothing(now, segment, host);
        } else {
            self.receive_data(now, segment, host);
        }
    }

    /// RFC 7323, section 4.3: a segment that begins at or before what was last ACKed sets TS.Recent,
    /// so that a delayed ACK echoes the earliest segment that it ACKs (`tcp_replace_ts_recent`).
    fn note_timestamp(&mut self, segment: &Segment) {
        if let Some(timestamp) = segment.timestamp
            && segment.seq <= self.window.acked()
            && timestamp.value >= self.ts_recent
        {
            self.ts_recent = timestamp.value;
        }
    }

    /// Handles a segment without data that is a window probe, or an ACK that was overtaken. It is answered if
    /// it lies before what was ACKed (`tcp_sequence`, `tcp_oow_rate_limited`).
    fn receive_nothing(&mut self, now: Time, segment: &Segment, host: &Host) {
        if segment.seq >= self.window.acked() {
            return;
        }
        let hz = host.profile.hz;
        let tick = ticks(now, hz) as u32;
        let every = in_ticks(ANSWER_EVERY, hz) as u32;
        if self.answered == 0 || tick.wrapping_sub(self.answered) >= every {
            self.answered = tick;
            self.acks.at_once();
        }
    }

    /// Takes in the data of a segment (`tcp_data_queue`).
    fn receive_data(&mut self, now: Time, segment: &Segment, host: &Host) {
        if segment.cwr && host.profile.ecn {
            self.demand_cwr = false;
            // The sender's reduced window may be a single segment.
            self.acks.at_once();
        }
        if let Some(timestamp) = segment.timestamp
            && segment.len >= self.acks.rcv_mss
        {
            self.sizing.echoed(now, timestamp.echo, self.unread() > 0);
        }
        let data = segment.seq..segment.end();
        if data.end <= self.rcv_nxt {
            self.duplicate(data, host);
            self.answer_quickly(host);
        } else if !self.has_room(&data) {
            self.answer_quickly(host);
        } else if data.start > self.rcv_nxt {
            self.receive_ahead(segment, data, host);
        } else {
            if data.start < self.rcv_nxt {
                self.duplicate(data.start..self.rcv_nxt, host);
            }
            self.receive_next(now, segment, host);
        }
    }

    /// Whether the window has room for data: the data must begin in it, and end in it unless the application
    /// has read everything (`tcp_sequence`, Linux 6.17).
    fn has_room(&self, data: &Range<u64>) -> bool {
        let end = self.rcv_nxt + u64::from(self.window.left(self.rcv_nxt));
        data.start < end && (data.end <= end || self.unread() == 0)
    }

    fn duplicate(&mut self, data: Range<u64>, host: &Host) {
        if host.profile.sack {
            self.disorder.get_or_insert_default().duplicate(data);
        }
    }

    fn answer_quickly(&mut self, host: &Host) {
        self.acks.enter_quick(MAX_QUICK, self.window.told(), host);
        self.acks.scheduled = true;
    }

    /// Takes data in order, and data beyond a hole that now is in order.
    fn receive_next(&mut self, now: Time, segment: &Segment, host: &Host) {
        self.rcv_nxt = segment.end();
        self.acks.data(now, segment, self.window.told(), self.mss, host);
        self.sizing.arrived(now, self.rcv_nxt, self.window.told());
        self.note_congestion(segment, host);
        if let Some(disorder) = &mut self.disorder
            && !disorder.is_empty()
        {
            self.rcv_nxt = disorder.fill(self.rcv_nxt);
            if disorder.is_empty() {
                // RFC 5681, section 4.2, wants an immediate ACK when a gap has been filled.
                self.acks.at_once();
            }
            self.forget_disorder();
        }
        self.open_window(segment);
    }

    /// Takes data beyond a hole (`tcp_data_queue_ofo`).
    fn receive_ahead(&mut self, segment: &Segment, data: Range<u64>, host: &Host) {
        self.note_congestion(segment, host);
        self.acks.scheduled = true;
        if host.profile.sack {
            // Without SACK, an ACK that changes the window would not count as a duplicate (RFC 5681, section
            // 2).
            self.open_window(segment);
        }
        let disorder = self.disorder.get_or_insert_default();
        let seldom_told = disorder.insert(data);
        if seldom_told && disorder.compressed > 0 {
            self.acks.at_once();
        }
        self.sizing.reordered(self.ahead(), &mut self.window, host.profile.receive_window_max);
    }

    fn open_window(&mut self, segment: &Segment) {
        if self.window.open(segment.len, self.mss, self.occupied()) {
            self.acks.window_grew();
        }
    }

    /// Notes the ECN field of the IP header (`tcp_data_ecn_check`).
    fn note_congestion(&mut self, segment: &Segment, host: &Host) {
        if !host.profile.ecn {
            return;
        }
        let quick = match segment.ecn {
            // It is probably a retransmission after a loss.
            Ecn::NotEct => self.ecn_seen,
            Ecn::Ect => false,
            Ecn::Ce => !std::mem::replace(&mut self.demand_cwr, true),
        };
        self.ecn_seen |= segment.ecn != Ecn::NotEct;
        if quick {
            self.acks.enter_quick(QUICK_AFTER_ECN, self.window.told(), host);
        }
    }

    /// Whether to send a pure ACK now, after data has arrived that was not answered with data. Starts the
    /// timers if an ACK may wait.
    pub(crate) fn reply(&mut self, now: Time, host: &Host) -> bool {
        let worth_it = !self.held && self.read_on(now, u64::MAX, host);
        worth_it || self.acks.scheduled && self.is_due(now, host)
    }

    /// Whether an ACK that is owed is sent now, or waits (`__tcp_ack_snd_check`).
    fn is_due(&mut self, now: Time, host: &Host) -> bool {
        let window_moves = self.fitting_window() >= self.window.told();
        let waits = host.profile.delayed_ack && !self.acks.is_urgent();
        if self.owes_more_than_a_segment() && window_moves || !waits {
            return true;
        }
        match &mut self.disorder {
            Some(disorder) if !disorder.is_empty() => {
                if !host.profile.sack {
                    return true;
                }
                compress(disorder, now, self.rcv_nxt, self.sizing.rtt(), host)
            }
            _ => self.acks.delay(now, host),
        }
    }

    /// RFC 5681, section 4.2, wants an ACK at least for every second full segment.
    fn owes_more_than_a_segment(&self) -> bool {
        self.rcv_nxt - self.window.acked() > u64::from(self.acks.rcv_mss)
    }

    /// The application reads up to `most` bytes, as far as data is there, and then waits until it says so
    /// again. Returns whether to send a pure ACK now.
    pub(crate) fn read(&mut self, now: Time, most: u64, host: &Host) -> bool {
        self.held = true;
        self.read_on(now, most, host)
    }

    /// The application reads, which may open the window (`tcp_recvmsg` with `tcp_cleanup_rbuf`).
    fn read_on(&mut self, now: Time, most: u64, host: &Host) -> bool {
        let bytes = self.unread().min(most);
        if bytes == 0 {
            return false;
        }
        self.copied += bytes;
        let (unread, ahead, largest) =
            (self.unread(), self.ahead(), host.profile.receive_window_max);
        self.sizing.read(now, bytes, unread, ahead, &mut self.window, largest);
        let worth_it = self.owes_more_than_a_segment()
            || unread == 0 && ahead == 0 && self.acks.is_worth_sending();
        self.acks.scheduled && worth_it || self.window_doubles()
    }

    /// Whether the window has at least doubled, so that the other end should hear of it.
    fn window_doubles(&self) -> bool {
        self.window.may_double(self.rcv_nxt) && {
            let window = self.fitting_window();
            window > 0 && window >= 2 * self.window.left(self.rcv_nxt)
        }
    }

    /// Closes the window, or opens it again to the room that there is.
    pub(crate) fn freeze(&mut self, frozen: bool) {
        self.frozen = frozen;
    }

    /// When [`Receiver::on_timer`] is to be called, if at all.
    pub(crate) fn timer(&self) -> Option<Time> {
        let compressed = self.disorder.as_deref().filter(|disorder| disorder.compressed > 0);
        Time::earliest(compressed.map(|disorder| disorder.compressed_until), self.acks.timer())
    }

    /// The timestamp to echo.
    pub(crate) fn echo(&self) -> u32 {
        self.ts_recent
    }

    /// The window as last told, bytes; at first that of the SYN, which fits without scaling.
    pub(crate) fn window(&self) -> u32 {
        self.window.told()
    }

    /// A timer may have gone off. Returns whether to send a pure ACK now.
    pub(crate) fn on_timer(&mut self, now: Time, host: &Host) -> bool {
        let compressed = self
            .disorder
            .as_deref()
            .is_some_and(|disorder| disorder.compressed > 0 && disorder.compressed_until <= now);
        compressed || self.acks.on_timer(now, host)
    }

    /// Fills in what a segment about to be sent tells of what was received: ACK, window, SACK blocks and ECE.
    /// An ACK that was owed is sent with it.
    pub(crate) fn acknowledge(&mut self, segment: &mut Segment, now: Time, host: &Host) {
        let occupied = self.occupied();
        if self.window.is_short(occupied) {
            self.acks.stop_quick();
        }
        segment.ack = self.rcv_nxt;
        segment.window = self.window.tell(self.rcv_nxt, occupied, self.acks.rcv_mss);
        if self.frozen {
            segment.window = 0;
        }
        segment.ece |= self.demand_cwr;
        if let Some(disorder) = &mut self.disorder {
            let room = SackBlocks::MOST - usize::from(host.profile.timestamps);
            segment.sack = host.profile.sack.then(|| disorder.take_blocks(room)).flatten();
            disorder.compressed = 0;
            self.forget_disorder();
        }
        self.acks.ack_sent(host);
        if segment.len > 0 {
            self.acks.data_sent(now, host);
        }
    }

    /// Bytes that have arrived in order.
    pub(crate) fn in_order(&self) -> u64 {
        self.rcv_nxt - FIRST_BYTE
    }

    /// Frees memory when everything is in order and has been told.
    fn forget_disorder(&mut self) {
        self.disorder = self.disorder.take().filter(|disorder| !disorder.is_over());
    }

    fn fitting_window(&self) -> u32 {
        self.window.fitting(self.occupied(), self.acks.rcv_mss)
    }

    fn unread(&self) -> u64 {
        self.rcv_nxt - self.copied
    }

    /// Bytes in the receive buffer.
    fn occupied(&self) -> u64 {
        self.unread() + self.disorder.as_deref().map_or(0, OutOfOrder::bytes)
    }

    /// How far out-of-order data goes beyond what is in order.
    fn ahead(&self) -> u64 {
        let end = self.disorder.as_deref().and_then(OutOfOrder::end);
        end.map_or(0, |end| end - self.rcv_nxt)
    }
}

/// Whether an ACK that tells of holes is to be sent at once, or may wait for others
/// (`__tcp_ack_snd_check`).
fn compress(disorder: &mut OutOfOrder, now: Time, rcv_nxt: u64, rtt: Span, host: &Host) -> bool {
    let Some(compression) = host.profile.sack_compression else {
        return true;
    };
    if disorder.compressed >= compression.segments {
        return true;
    }
    if disorder.duplicates_of != rcv_nxt {
        (disorder.duplicates_of, disorder.duplicates) = (rcv_nxt, 0);
    }
    if disorder.duplicates < DUPLICATES_AT_ONCE {
        disorder.duplicates += 1;
        return true;
    }
    // It is a twentieth of the shorter of two round trips, the sender's and our own.
    let rtt = host.srtt.map_or(rtt, |srtt| srtt.min(rtt));
    let delay = compression.delay.min(Span::from_nanos(rtt.as_nanos() / 20));
    if disorder.compressed == 0 {
        disorder.compressed_until = now + delay + COMPRESSION_SLACK;
    }
    disorder.compressed += 1;
    false
}
