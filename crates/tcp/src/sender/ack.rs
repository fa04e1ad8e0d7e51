//! Processes an ACK, in the kernel's order of steps (tcp_ack).

use kirikae_algorithms::CaState;
use kirikae_path::Time;

use super::delivery_rate::Sampling;
use super::scoreboard::Sent;
use super::undo::is_before;
use super::{BOOT_NS, Sender};
use crate::{Growth, Segment, Timestamp};

/// What is found out about an ACK while it is processed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ack {
    /// First byte that it does not ACK: SEG.ACK.
    pub acked_to: u64,
    /// First byte that was not ACKed before it: SND.UNA.
    pub prior_una: u64,
    /// The timestamp that it echoes, milliseconds (RFC 7323).
    pub echo_ms: Option<u32>,
    /// Whether it ACKs something cumulatively.
    pub una_advanced: bool,
    /// Whether a later ACK has overtaken it.
    pub old: bool,
    /// Whether it carries data.
    pub carries_data: bool,
    /// Whether it changes the receive window, or confirms it.
    pub window_update: bool,
    /// Whether a segment is ACKed cumulatively.
    pub data_acked: bool,
    /// Whether a segment is SACKed that was not before.
    pub data_sacked: bool,
    /// Whether it reports a mark (ECE, RFC 3168).
    pub ece: bool,
    /// Whether it reports a segment that arrived twice because it was sent twice (DSACK, RFC 2883).
    pub dsack: bool,
    /// Whether the DSACK is for the tail loss probe.
    pub dsack_of_probe: bool,
    /// Whether it cumulatively ACKs a segment that was sent again.
    pub retransmission_acked: bool,
    /// Whether it delivers, below `high_seq`, a segment that was never sent again.
    pub original_delivered: bool,
    /// Whether a segment that was sent again is lost again.
    pub lost_retransmission: bool,
    /// Whether the timer is to be set anew.
    pub set_timer: bool,
}

impl Ack {
    /// Whether it is not a duplicate ACK in the sense of RFC 5681.
    pub fn is_not_duplicate(&self) -> bool {
        self.carries_data || self.window_update || self.data_acked
    }

    /// Whether it stands for a segment that arrived out of order, if there is no SACK.
    pub fn is_duplicate(&self) -> bool {
        !(self.old || self.una_advanced || self.dsack || self.is_not_duplicate())
    }

    /// Whether it shows more than progress, or comes in a state in which progress is not all that matters.
    fn is_dubious(&self, state: CaState) -> bool {
        !self.is_not_duplicate()
            || self.data_sacked
            || self.ece
            || self.dsack
            || state != CaState::Open
    }
}

/// What is to be sent besides new data within the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retransmit {
    /// Nothing is sent again.
    Nothing,
    /// Segments that count as lost are sent again.
    Lost,
    /// New data is sent first, to find out whether a timeout was spurious.
    New,
}

/// When the first and the last of the segments that an ACK is about were sent, microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentTimes {
    first_us: Option<u64>,
    last_us: Option<u64>,
}

impl SentTimes {
    /// Adds the time at which a segment was sent; segments are added in the order of sending.
    pub fn add(&mut self, sent_us: u64) {
        self.first_us.get_or_insert(sent_us);
        self.last_us = Some(sent_us);
    }
}

/// What an ACK delivers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// The sample of the delivery rate.
    pub sampling: Sampling,
    /// When the cumulatively ACKed segments that were sent only once were sent.
    pub acked_times: SentTimes,
    /// When the SACKed segments that were sent only once were sent.
    pub sacked_times: SentTimes,
    /// Segments ACKed cumulatively.
    pub segments: u32,
    /// End of what was SACKed before; None if nothing was.
    pub highest_before: Option<u64>,
    /// Lowest sequence number of a segment, never sent again, that is SACKed after a later one was.
    pub sacked_out_of_order: Option<u64>,
    /// Lowest sequence number of a segment, never sent again, that is ACKed cumulatively after a later one
    /// was SACKed.
    pub acked_out_of_order: Option<u64>,
}

/// Segments delivered and lost in all, counted before an ACK.
#[derive(Clone, Copy, Debug)]
struct Counts {
    delivered: u32,
    lost: u32,
}

impl Sender {
    /// A segment with an ACK arrives.
    pub fn on_ack(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        self.set_clock(now);
        if segment.ack > self.nxt {
            return; // it ACKs what was not sent
        }
        let before = self.counts();
        let mut ack = self.classify(segment);
        let mut delivery = Delivery::default();
        delivery.sampling.prior_in_flight = self.packets_in_flight();
        delivery.highest_before = self.board.highest_sacked();
        if !ack.old {
            self.take_ack_number(now, segment, &mut ack);
        }
        if let Some(blocks) = &segment.sack
            && self.profile.sack
        {
            self.on_sack(blocks.as_slice(), &mut ack, &mut delivery);
        }
        let retransmit = if ack.old {
            // It is late, but its SACK blocks are still news.
            if !(ack.data_sacked || ack.dsack) {
                return;
            }
            self.alert(&mut ack)
        } else if self.packets_out() == 0 {
            return self.ack_while_idle(&mut ack);
        } else {
            self.ack_in_flight(&mut ack, &mut delivery)
        };
        if !ack.old {
            self.control_congestion(&ack, &delivery, before);
        }
        self.send_after_ack(now, retransmit, out);
    }

    /// Segments delivered and lost so far.
    fn counts(&self) -> Counts {
        let fields = &self.socket.fields;
        Counts { delivered: fields.delivered, lost: fields.lost }
    }

    /// Classifies an ACK by itself.
    fn classify(&self, segment: &Segment) -> Ack {
        let prior_una = self.una;
        Ack {
            acked_to: segment.ack,
            prior_una,
            echo_ms: segment.timestamp.map(|timestamp| timestamp.echo),
            una_advanced: segment.ack > prior_una,
            carries_data: segment.len > 0,
            ece: segment.ece && self.ecn.capable && segment.ack >= prior_una,
            old: segment.ack < prior_una,
            ..Ack::default()
        }
    }

    /// Updates SND.UNA and the receive window by an ACK that is not old.
    fn take_ack_number(&mut self, now: Time, segment: &Segment, ack: &mut Ack) {
        if ack.una_advanced {
            self.timeouts = 0;
            self.estimate_path(ack.acked_to);
        }
        self.update_window(now, segment, ack);
        let fields = &mut self.socket.fields;
        fields.bytes_acked += ack.acked_to - self.una;
        fields.snd_una = ack.acked_to as u32;
        self.una = ack.acked_to;
    }

    /// Updates the receive window, if it may have changed.
    fn update_window(&mut self, now: Time, segment: &Segment, ack: &mut Ack) {
        if self.window.is_news(segment.seq, segment.window, ack.una_advanced) {
            ack.window_update = true;
            let changes = self.window.update(segment.seq, segment.window);
            if changes && self.nxt < self.written && self.packets_out() == 0 {
                self.idle_restart(now); // the time in which the window was closed counts as idle
            }
        }
    }

    /// Processes an ACK while nothing is in flight: a window may have opened.
    fn ack_while_idle(&mut self, ack: &mut Ack) {
        if ack.dsack {
            self.alert(ack);
        }
        if self.nxt < self.written {
            let unit = (self.written - self.nxt).min(self.mss.into());
            if self.window_end() >= self.nxt + unit {
                self.window_opened();
            } else {
                self.await_window(); // the receiver is there: the wait begins anew
            }
        }
        self.probe_acked(ack);
    }

    /// Processes an ACK that is not old while something is in flight: deliveries, losses, and the timer.
    fn ack_in_flight(&mut self, ack: &mut Ack, delivery: &mut Delivery) -> Retransmit {
        self.advance(ack, delivery);
        if self.uses_rack()
            && let Some(prior_delivered) = delivery.sampling.prior_delivered()
        {
            self.rack.adapt_window(prior_delivered, self.socket.fields.delivered);
        }
        self.probe_acked(ack);
        if self.profile.growth == Growth::InFlight && !self.in_reduction() {
            self.limit_by_flight(delivery.sampling.prior_in_flight);
            self.grow_window(delivery.segments, ack);
        }
        let retransmit =
            if ack.is_dubious(self.state()) { self.alert(ack) } else { Retransmit::Nothing };
        if ack.set_timer && !self.schedule_loss_probe(true) {
            self.rearm_retransmission();
        }
        retransmit
    }

    /// Removes cumulatively ACKed segments from the scoreboard, takes the RTT, and calls the algorithm's
    /// pkts_acked.
    fn advance(&mut self, ack: &mut Ack, delivery: &mut Delivery) {
        while let Some(sent) = self.board.pop_acked(ack.acked_to) {
            self.segment_acked(&sent, ack, delivery);
        }
        if delivery.segments > 0 {
            ack.data_acked = true;
            if !self.profile.sack {
                self.remove_duplicates(delivery.segments);
                // It cannot be told which of them had arrived before.
                ack.original_delivered &= !ack.retransmission_acked;
            }
        }
        self.board.forget_below(ack.acked_to);
        self.sample_rtt(ack, delivery);
        if ack.data_acked {
            ack.set_timer = true;
            // The ACK fills a hole that was never sent again, which shows reordering.
            if self.profile.sack
                && let Some(low) = delivery.acked_out_of_order
            {
                self.check_reordering(low);
            }
        } else if let Some(sacked_us) = delivery.sacked_times.first_us
            && self.board.first().is_some_and(|first| first.sent_us > sacked_us)
        {
            // What was SACKed left before the first segment was last sent, so that segment's timer runs from
            // now.
            ack.set_timer = true;
        }
        let delivered = delivery
            .sampling
            .prior_delivered()
            .map_or(0, |prior| self.socket.fields.delivered.wrapping_sub(prior));
        self.socket.pkts_acked(delivery.segments, delivery.sampling.rtt_us, delivered);
    }

    /// Notes that one segment is ACKed cumulatively and has left the scoreboard.
    #[inline]
    fn segment_acked(&mut self, sent: &Sent, ack: &mut Ack, delivery: &mut Delivery) {
        let fields = &mut self.socket.fields;
        fields.packets_out -= 1;
        delivery.segments += 1;
        if sent.sacked {
            fields.sacked_out -= 1;
        } else {
            if self.profile.sack {
                fields.delivered = fields.delivered.wrapping_add(1);
            }
            fields.lost_out -= u32::from(sent.lost);
            fields.retrans_out -= u32::from(sent.retransmitted);
            delivery.sampling.delivered(&mut self.socket, sent);
            if self.expires_segments() {
                self.note_delivery(sent, ack.echo_ms);
            } else if self.uses_rack() && !was_delivered_before(sent, ack.echo_ms) {
                self.rack_delivered(sent);
            }
        }
        if sent.ever_retransmitted {
            ack.retransmission_acked = true;
        } else if !sent.sacked {
            delivery.acked_times.add(sent.sent_us);
            ack.original_delivered |= sent.end() <= self.high_seq;
            if delivery.highest_before.is_some_and(|highest| sent.seq < highest) {
                delivery.acked_out_of_order.get_or_insert(sent.seq);
            }
        }
    }

    /// Takes RTT samples from segments sent once, or else from the timestamp's echo (RFC 7323).
    fn sample_rtt(&mut self, ack: &Ack, delivery: &mut Delivery) {
        let now_us = self.now_us();
        let since = |sent_us: u64| now_us.saturating_sub(sent_us) as u32;
        let unambiguous_us =
            if ack.retransmission_acked { None } else { delivery.acked_times.first_us };
        // A single short segment may have waited for the receiver's delayed ACK.
        delivery.sampling.ack_delayed = unambiguous_us.is_some()
            && delivery.segments == 1
            && delivery.highest_before.is_none()
            && ack.acked_to - ack.prior_una < u64::from(self.mss);
        let sacked = delivery.sacked_times;
        let mut first_us = unambiguous_us.or(sacked.first_us).map(since);
        let mut last_us =
            sacked.last_us.or(unambiguous_us.and(delivery.acked_times.last_us)).map(since);
        if first_us.is_none()
            && ack.data_acked
            && let Some(echo_ms) = ack.echo_ms
        {
            // An echo that lies ahead gives no sample.
            let ms = Timestamp::clock(self.now()).wrapping_sub(echo_ms).max(1);
            first_us = i32::try_from(u64::from(ms) * 1000).ok().map(i32::cast_unsigned);
            last_us = first_us;
        }
        delivery.sampling.rtt_us = last_us;
        if let (Some(first_us), Some(last_us)) = (first_us, last_us) {
            self.rtt_sample(first_us, last_us);
        }
    }

    /// Sets window and pacing rate after an ACK that is not old: by cong_control, or as the kernel does for
    /// an algorithm that leaves reductions to it.
    fn control_congestion(&mut self, ack: &Ack, delivery: &Delivery, before: Counts) {
        let counts = self.counts();
        let delivered = counts.delivered.wrapping_sub(before.delivered);
        let lost = counts.lost.wrapping_sub(before.lost);
        let min_rtt_us = self.min_rtt_us();
        let sample = delivery.sampling.finish(&mut self.socket, min_rtt_us, delivered, lost);
        if self.socket.algorithm().controls_alone() {
            return self.socket.cong_control(&sample);
        }
        if self.in_reduction() {
            self.reduce_window(delivered, lost, ack);
        } else if self.profile.growth == Growth::Validated {
            self.grow_window(delivered, ack);
        }
        self.update_pacing_rate();
    }

    /// Grows the window by an ACK that delivers so many segments.
    fn grow_window(&mut self, delivered: u32, ack: &Ack) {
        // With much reordering all deliveries count, otherwise only what is ACKed.
        let much = self.profile.growth == Growth::Validated
            && self.reordering.segments() > self.profile.reordering;
        if ack.data_acked || (much && ack.data_sacked) {
            let acked = if self.profile.count_segments { delivered } else { delivered.min(1) };
            let una = self.una as u32;
            self.socket.cong_avoid(una, acked);
            self.usage.window_changed(self.now_us());
        }
    }

    /// Sets the pacing rate: twice the window per round trip while slow start is far from its end, otherwise
    /// 6/5 of it.
    fn update_pacing_rate(&mut self) {
        const SLOW_START_PERCENT: u64 = 200;
        const AVOIDANCE_PERCENT: u64 = 120;
        let fields = &mut self.socket.fields;
        if fields.srtt_us == 0 {
            return;
        }
        let percent = if fields.snd_cwnd < fields.snd_ssthresh / 2 {
            SLOW_START_PERCENT
        } else {
            AVOIDANCE_PERCENT
        };
        let segments = u64::from(fields.snd_cwnd.max(fields.packets_out));
        let bytes_8 = u64::from(self.mss) * segments * 8;
        let rate = bytes_8 * (percent * 10_000) / u64::from(fields.srtt_us);
        let sock = &mut fields.inet_conn.icsk_inet.sk;
        sock.sk_pacing_rate = rate.min(sock.sk_max_pacing_rate);
    }

    /// Sends again what an ACK has shown to be lost, or new data in its place.
    fn send_after_ack(&mut self, now: Time, retransmit: Retransmit, out: &mut Vec<Segment>) {
        match retransmit {
            Retransmit::Nothing => {}
            Retransmit::Lost => self.retransmit_lost(now, out),
            Retransmit::New => {
                self.transmit_new(now, out);
                if self.nxt <= self.high_seq {
                    self.frto.give_up(); // nothing new could be sent
                    self.retransmit_lost(now, out);
                }
            }
        }
    }
}

/// Whether an ACK with this echo is older than the retransmission of a segment, and so is for the original.
pub(super) fn was_delivered_before(sent: &Sent, echo_ms: Option<u32>) -> bool {
    let sent_at_ms = Timestamp::clock(Time::from_nanos(sent.sent_us * 1000 - BOOT_NS));
    sent.ever_retransmitted && echo_ms.is_some_and(|echo_ms| is_before(echo_ms, sent_at_ms))
}
