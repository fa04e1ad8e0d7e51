//! What an ACK brings, in the order in which the kernel works it through (tcp_ack).

use std::ops::Range;

use kirikae_algorithms::CaState;
use kirikae_path::Time;

use super::delivery_rate::Sampling;
use super::scoreboard::Sent;
use super::{BOOT_NS, Sender};
use crate::{Growth, SackBlocks, Segment, Timestamp};

/// What is found out about an ACK while it is worked through.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ack {
    pub una_advanced: bool,
    /// It was overtaken by a later one.
    pub old: bool,
    /// It carries data, opens the window or ACKs something.
    pub carries_data: bool,
    pub window_update: bool,
    pub data_acked: bool,
    pub data_sacked: bool,
    pub ece: bool,
    pub dsack: bool,
    /// The DSACK is for the loss probe.
    pub dsack_of_probe: bool,
    /// Something that was sent again is ACKed cumulatively.
    pub retransmission_acked: bool,
    /// Something that was never sent again is delivered, below `high_seq`.
    pub original_delivered: bool,
    /// Something that was sent again is lost again.
    pub lost_retransmission: bool,
    /// The timer is to be set anew.
    pub set_timer: bool,
}

impl Ack {
    /// Not a duplicate ACK in the sense of RFC 5681.
    pub fn is_not_duplicate(&self) -> bool {
        self.carries_data || self.window_update || self.data_acked
    }

    fn is_dubious(&self, state: CaState) -> bool {
        !self.is_not_duplicate()
            || self.data_sacked
            || self.ece
            || self.dsack
            || state != CaState::Open
    }
}

/// What is to be sent beside what the window lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retransmit {
    Nothing,
    /// What is lost.
    Lost,
    /// New data, to find out whether a timeout was one.
    New,
}

/// When the segments were sent that an ACK is about, microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct SentTimes {
    first: Option<u64>,
    last: Option<u64>,
}

impl SentTimes {
    fn add(&mut self, sent_us: u64) {
        self.first.get_or_insert(sent_us);
        self.last = Some(sent_us);
    }
}

/// What an ACK delivers.
#[derive(Clone, Copy, Debug, Default)]
struct Delivery {
    sampling: Sampling,
    acked_times: SentTimes,
    sacked_times: SentTimes,
    /// Segments ACKed cumulatively.
    segments: u32,
    /// There was something SACKed before, up to here.
    highest_before: Option<u64>,
    /// Lowest sequence number of a segment, never sent again, SACKed after a later one was ...
    sacked_out_of_order: Option<u64>,
    /// ... and ACKed cumulatively after a later one was SACKed.
    acked_out_of_order: Option<u64>,
}

impl Sender {
    /// A segment with an ACK arrives.
    pub fn on_ack(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        self.set_clock(now);
        if segment.ack > self.nxt {
            return;
        }
        let (delivered, lost) = (self.socket.fields.delivered, self.socket.fields.lost);
        let prior_una = self.una;
        let mut ack = Ack {
            una_advanced: segment.ack > prior_una,
            carries_data: segment.len > 0,
            ece: segment.ece && self.ecn.capable && segment.ack >= prior_una,
            old: segment.ack < prior_una,
            ..Ack::default()
        };
        let mut delivery = Delivery::default();
        delivery.sampling.prior_in_flight = self.packets_in_flight();
        delivery.highest_before = self.board.highest_sacked();
        self.undo.echo = segment.timestamp.map(|timestamp| timestamp.echo);
        if !ack.old {
            if ack.una_advanced {
                self.timeouts = 0;
                self.estimate_path(segment.ack);
            }
            self.update_window(now, segment, &mut ack);
        }
        if let Some(blocks) = &segment.sack
            && self.profile.sack
        {
            self.on_sack(segment.ack, blocks.as_slice(), &mut ack, &mut delivery);
        }
        let retransmit = if ack.old {
            // It is late, but what it SACKs is news all the same.
            if !(ack.data_sacked || ack.dsack) {
                return;
            }
            self.alert(prior_una, &mut ack)
        } else if self.packets_out() == 0 {
            self.idle_ack(prior_una, segment, &mut ack);
            return;
        } else {
            self.advance(segment, prior_una, &mut ack, &mut delivery);
            if self.uses_rack() {
                self.rack_adapt_window(&delivery.sampling);
            }
            self.probe_acked(segment.ack, &ack);
            if self.profile.growth == Growth::InFlight && !self.in_reduction() {
                self.limit_by_flight(delivery.sampling.prior_in_flight);
                self.grow_window(delivery.segments, &ack);
            }
            let retransmit = if ack.is_dubious(self.state()) {
                self.alert(prior_una, &mut ack)
            } else {
                Retransmit::Nothing
            };
            if ack.set_timer && !self.schedule_loss_probe(true) {
                self.rearm_retransmission();
            }
            retransmit
        };
        let fields = &self.socket.fields;
        let delivered = fields.delivered.wrapping_sub(delivered);
        let lost = fields.lost.wrapping_sub(lost);
        if !ack.old {
            let sample = self.rate_sample(&delivery.sampling, delivered, lost);
            if self.socket.algorithm().controls_alone() {
                self.socket.cong_control(&sample);
            } else {
                self.control_window(delivered, lost, &ack);
            }
        }
        match retransmit {
            Retransmit::Nothing => {}
            Retransmit::Lost => self.retransmit_lost(now, out),
            Retransmit::New => {
                self.transmit_new(now, out);
                if self.nxt <= self.high_seq {
                    self.frto = false;
                    self.retransmit_lost(now, out);
                }
            }
        }
    }

    /// A window that may have changed, but not by an older segment (RFC 9293, section 3.10.7.4).
    fn update_window(&mut self, now: Time, segment: &Segment, ack: &mut Ack) {
        let same = segment.seq == self.window_seq;
        if ack.una_advanced
            || segment.seq > self.window_seq
            || (same && (segment.window > self.window || segment.window == 0))
        {
            ack.window_update = true;
            let changes = segment.window != self.window;
            self.window = segment.window;
            self.window_seq = segment.seq;
            if changes && self.nxt < self.written && self.packets_out() == 0 {
                self.idle_restart(now); // the time in which the window was closed counts as idle
            }
        }
        let una = self.una.max(segment.ack);
        let fields = &mut self.socket.fields;
        fields.bytes_acked += una - self.una;
        fields.snd_una = una as u32;
        self.una = una;
    }

    /// Nothing was in flight: a window may have opened.
    fn idle_ack(&mut self, prior_una: u64, segment: &Segment, ack: &mut Ack) {
        if ack.dsack {
            self.alert(prior_una, ack);
        }
        if self.nxt < self.written {
            let unit = (self.written - self.nxt).min(self.mss.into());
            if self.window_end() >= self.nxt + unit {
                self.window_opened();
            } else {
                self.await_window(); // the receiver is there: the wait begins anew
            }
        }
        self.probe_acked(segment.ack, ack);
    }

    /// SACK blocks (RFC 2018), the first of which may tell of a duplicate (RFC 2883).
    fn on_sack(&mut self, acked: u64, blocks: &[Range<u64>], ack: &mut Ack, news: &mut Delivery) {
        let mut blocks = blocks;
        if let Some((first, rest)) = blocks.split_first()
            && (first.end <= acked
                || rest
                    .first()
                    .is_some_and(|next| next.start <= first.start && first.end <= next.end))
        {
            self.on_dsack(first, ack);
            blocks = rest;
        }
        // The newest block comes first, which says nothing of the order in which segments arrived.
        let mut sorted: [Range<u64>; SackBlocks::MOST] = Default::default();
        let sorted = &mut sorted[..blocks.len()];
        sorted.clone_from_slice(blocks);
        sorted.sort_unstable_by_key(|block| block.start);
        for block in &*sorted {
            if block.start >= block.end || block.end > self.nxt || block.end <= acked {
                continue;
            }
            let block = block.start.max(acked)..block.end;
            let highest = self.board.highest_sacked();
            for new in self.board.add_sacked(&block) {
                self.sack_segments(&new, highest, ack, news);
            }
        }
        if let Some(low) = news.sacked_out_of_order
            && (self.state() != CaState::Loss || self.undo.marker.is_some())
        {
            self.check_reordering(low);
        }
    }

    fn on_dsack(&mut self, block: &Range<u64>, ack: &mut Ack) {
        if block.start >= block.end || block.end > self.nxt {
            return;
        }
        let segments = self.segments(block.end - block.start);
        let of_probe = self.probe.retransmission
            && self.probe.end_seq.is_some_and(|end_seq| block.end == end_seq);
        let fields = &mut self.socket.fields;
        fields.dsack_dups = fields.dsack_dups.wrapping_add(segments);
        if fields.dsack_dups > self.retransmissions {
            return; // the network made the duplicate
        }
        ack.dsack = true;
        // What was sent again in vain has been delivered, too.
        fields.delivered = fields.delivered.wrapping_add(segments);
        if of_probe {
            ack.dsack_of_probe = true;
        } else if self.reordering_seen {
            self.rack.dsack_seen = true;
        }
        let in_flight = self.board.get(self.board.position(block.start));
        let sent_again =
            block.end <= self.una || in_flight.is_some_and(|sent| sent.ever_retransmitted);
        if sent_again && self.undo.marker.is_some_and(|marker| block.end > marker) {
            self.undo_retransmission(segments);
        }
    }

    /// Segments within a range that was not reported before.
    fn sack_segments(
        &mut self,
        range: &Range<u64>,
        highest: Option<u64>,
        ack: &mut Ack,
        news: &mut Delivery,
    ) {
        let mut index = self.board.position(range.start);
        while let Some(sent) = self.board.get_mut(index)
            && sent.end() <= range.end
        {
            index += 1;
            if sent.sacked || sent.seq < range.start {
                continue;
            }
            let before = *sent;
            sent.sacked = true;
            sent.lost = false;
            sent.retransmitted = false;
            sent.at_sending.delivered_us = 0;
            let fields = &mut self.socket.fields;
            fields.lost_out -= u32::from(before.lost);
            fields.retrans_out -= u32::from(before.retransmitted);
            fields.sacked_out += 1;
            fields.delivered = fields.delivered.wrapping_add(1);
            ack.data_sacked = true;
            if !before.ever_retransmitted {
                if highest.is_some_and(|highest| before.seq < highest) {
                    let low = news.sacked_out_of_order.unwrap_or(before.seq);
                    news.sacked_out_of_order = Some(low.min(before.seq));
                }
                ack.original_delivered |= before.end() <= self.high_seq;
                news.sacked_times.add(before.sent_us);
            }
            self.sample_delivered(&mut news.sampling, &before);
            if self.uses_rack() || self.expires_segments() {
                self.rack_delivered(&before);
            }
        }
    }

    /// A segment arrived after later ones: how far the path reorders.
    pub(super) fn check_reordering(&mut self, low: u64) {
        const REORDERING_MAX: u32 = 300;
        let highest = self.board.highest_sacked().unwrap_or(self.una);
        if low >= highest {
            return;
        }
        let distance = self.segments(highest - low);
        if distance > self.reordering {
            self.reordering = distance.min(REORDERING_MAX);
        }
        self.reordering_seen = true;
    }

    /// What is cumulatively ACKed leaves the scoreboard; RTT, and the algorithm's pkts_acked.
    fn advance(&mut self, segment: &Segment, prior_una: u64, ack: &mut Ack, news: &mut Delivery) {
        while let Some(sent) = self.board.pop_acked(segment.ack) {
            let fields = &mut self.socket.fields;
            fields.packets_out -= 1;
            news.segments += 1;
            if sent.sacked {
                fields.sacked_out -= 1;
            } else {
                if self.profile.sack {
                    fields.delivered = fields.delivered.wrapping_add(1);
                }
                fields.lost_out -= u32::from(sent.lost);
                fields.retrans_out -= u32::from(sent.retransmitted);
                self.sample_delivered(&mut news.sampling, &sent);
                if self.expires_segments() {
                    self.note_delivery(&sent);
                } else if self.uses_rack() && !self.was_delivered_before(&sent) {
                    self.rack_delivered(&sent);
                }
            }
            if sent.ever_retransmitted {
                ack.retransmission_acked = true;
            } else if !sent.sacked {
                news.acked_times.add(sent.sent_us);
                ack.original_delivered |= sent.end() <= self.high_seq;
                if news.highest_before.is_some_and(|highest| sent.seq < highest) {
                    news.acked_out_of_order.get_or_insert(sent.seq);
                }
            }
        }
        if news.segments > 0 {
            ack.data_acked = true;
            if !self.profile.sack {
                self.remove_duplicates(news.segments);
                // Which of them had arrived before cannot be told.
                ack.original_delivered &= !ack.retransmission_acked;
            }
        }
        self.board.forget_below(segment.ack);
        self.sample_rtt(segment, prior_una, ack, news);
        if ack.data_acked {
            ack.set_timer = true;
            // A hole that was never sent again is filled: reordering.
            if self.profile.sack
                && let Some(low) = news.acked_out_of_order
            {
                self.check_reordering(low);
            }
        } else if let Some(sacked_us) = news.sacked_times.first
            && self.board.first().is_some_and(|first| first.sent_us > sacked_us)
        {
            // What was SACKed left before the first segment was last sent: its timer runs from now.
            ack.set_timer = true;
        }
        let delivered = news
            .sampling
            .prior_delivered()
            .map_or(0, |prior| self.socket.fields.delivered.wrapping_sub(prior));
        self.socket.pkts_acked(news.segments, news.sampling.rtt_us, delivered);
    }

    /// Whether the ACK is older than what was sent again, and so for the original.
    pub(super) fn was_delivered_before(&self, sent: &Sent) -> bool {
        let sent_at = Timestamp::clock(Time::from_nanos(sent.sent_us * 1000 - BOOT_NS));
        let older = |echo: u32| echo.wrapping_sub(sent_at).cast_signed() < 0;
        sent.ever_retransmitted && self.undo.echo.is_some_and(older)
    }

    /// RTT samples, from segments sent once, or else from the timestamp's echo (RFC 7323).
    fn sample_rtt(&mut self, segment: &Segment, prior_una: u64, ack: &Ack, news: &mut Delivery) {
        let now_us = self.now_us();
        let since = |sent_us: u64| now_us.saturating_sub(sent_us) as u32;
        let unambiguous = if ack.retransmission_acked { None } else { news.acked_times.first };
        // One segment alone, a short one, may have waited for the receiver's delayed ACK.
        news.sampling.ack_delayed = unambiguous.is_some()
            && news.segments == 1
            && news.highest_before.is_none()
            && segment.ack - prior_una < u64::from(self.mss);
        let mut first = unambiguous.or(news.sacked_times.first).map(since);
        let mut last = news.sacked_times.last.or(unambiguous.and(news.acked_times.last)).map(since);
        if first.is_none()
            && ack.data_acked
            && let Some(timestamp) = segment.timestamp
        {
            // No sample from an echo that lies ahead.
            let ms = Timestamp::clock(self.now()).wrapping_sub(timestamp.echo).max(1);
            first = i32::try_from(u64::from(ms) * 1000).ok().map(i32::cast_unsigned);
            last = first;
        }
        news.sampling.rtt_us = last;
        if let (Some(first), Some(last)) = (first, last) {
            self.rtt_sample(first, last);
        }
    }

    /// The window after an ACK, for an algorithm that leaves reductions to the kernel.
    fn control_window(&mut self, delivered: u32, lost: u32, ack: &Ack) {
        if self.in_reduction() {
            self.reduce_window(delivered, lost, ack);
        } else if self.profile.growth == Growth::Validated {
            self.grow_window(delivered, ack);
        }
        self.update_pacing_rate();
    }

    /// Growth by an ACK that delivers so many segments.
    fn grow_window(&mut self, delivered: u32, ack: &Ack) {
        // With much reordering whatever is delivered counts, otherwise what is ACKed.
        let much =
            self.profile.growth == Growth::Validated && self.reordering > self.profile.reordering;
        if ack.data_acked || (much && ack.data_sacked) {
            let acked = if self.profile.count_segments { delivered } else { delivered.min(1) };
            let una = self.una as u32;
            self.socket.cong_avoid(una, acked);
            self.usage.stamp_us = self.now_us();
        }
    }

    /// Twice the window in a round trip while slow start is far from its end, else 6/5 of it.
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
}
