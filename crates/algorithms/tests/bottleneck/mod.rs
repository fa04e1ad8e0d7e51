//! A path of one bottleneck (rate, round trip, buffer) and a sender with data without end.
//!
//! The path is reckoned segment by segment and draws nothing at random.
#![allow(dead_code)]

use std::collections::VecDeque;

use kirikae_algorithms::{Algorithm, CaEvent, CaState, RateSample, Socket};

pub const MSS: u32 = 1448;
/// 1000 segments a second each; the bandwidth-delay product is 100 segments at 100 ms.
pub const SEGMENT_US: u64 = 1000;
pub const RTT_US: u64 = 100_000;
pub const BDP: u32 = 100;
pub const RATE: f64 = MSS as f64 * 1e6 / SEGMENT_US as f64;
pub const SECOND: u64 = 1_000_000;

/// A segment on its way, with what the kernel notes when it sends one.
#[derive(Clone, Copy)]
struct Segment {
    number: u64,
    sent_us: u64,
    arrives_us: u64,
    delivered: u32,
    delivered_us: u64,
    first_sent_us: u64,
    is_app_limited: bool,
}

/// What was seen at an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub us: u64,
    pub cwnd: u32,
    pub in_flight: u32,
    /// Pacing rate over the bottleneck's.
    pub pacing: f64,
}

/// A sender with data without end, its bottleneck, and a receiver that ACKs every segment.
pub struct Path {
    pub socket: Socket,
    pub now_us: u64,
    /// Round trip without a queue.
    rtt_us: u64,
    /// Segments that fit into the queue.
    buffer: u64,
    /// One in so many segments is lost on the way to the queue; 0: none.
    pub lose_every: u64,
    pub next_number: u64,
    next_send_ns: u64,
    /// When the bottleneck has sent all that it holds.
    busy_until_us: u64,
    first_sent_us: u64,
    on_the_way: VecDeque<Segment>,
    lost: VecDeque<Segment>,
    in_flight: u32,
    /// In recovery: the first segment sent in it, and the one whose ACK ends it.
    recovery: Option<(u64, u64)>,
    seen: Vec<Seen>,
}

impl Path {
    pub fn new(algorithm: &str, buffer: u64) -> Path {
        Path::with_rtt(algorithm, buffer, RTT_US)
    }

    /// Whatever is played, quiet ACKs have to be as good as those for which everything is looked at.
    pub fn with_rtt(algorithm: &str, buffer: u64, rtt_us: u64) -> Path {
        Path::of(Algorithm::named(algorithm).unwrap().checked(), buffer, rtt_us)
    }

    /// Without that check.
    pub fn unchecked(algorithm: &str, buffer: u64) -> Path {
        Path::of(Algorithm::named(algorithm).unwrap(), buffer, RTT_US)
    }

    fn of(algorithm: Algorithm, buffer: u64, rtt_us: u64) -> Path {
        let mut socket = Socket::new(Algorithm::named("kk_cubic").unwrap(), MSS);
        // The handshake has measured the round trip when init is called.
        socket.fields.rtt_min.s[0].v = rtt_us as u32;
        socket.fields.srtt_us = (rtt_us as u32) << 3;
        socket.fields.tcp_mstamp = SECOND;
        socket.fields.random = 7;
        socket.fields.set_is_cwnd_limited(1);
        socket.switch_to(algorithm);
        Path {
            socket,
            now_us: SECOND,
            rtt_us,
            buffer,
            lose_every: 0,
            next_number: 0,
            next_send_ns: 0,
            busy_until_us: 0,
            first_sent_us: 0,
            on_the_way: VecDeque::new(),
            lost: VecDeque::new(),
            in_flight: 0,
            recovery: None,
            seen: Vec::new(),
        }
    }

    fn set_time(&mut self, us: u64) {
        self.now_us = us;
        self.socket.fields.tcp_mstamp = us;
        self.socket.fields.tcp_clock_cache = us * 1000;
        self.socket.fields.tcp_wstamp_ns = self.next_send_ns;
        self.socket.fields.packets_out = self.in_flight;
    }

    pub fn run_for(&mut self, us: u64) -> &[Seen] {
        let (from, end) = (self.seen.len(), self.now_us + us);
        loop {
            let ack = self.on_the_way.front().map(|segment| segment.arrives_us);
            let may_send = self.in_flight < self.socket.fields.snd_cwnd;
            let send = may_send.then(|| self.now_us.max(self.next_send_ns.div_ceil(1000)));
            let next = ack.unwrap_or(u64::MAX).min(send.unwrap_or(u64::MAX));
            assert!(next < u64::MAX, "nothing in flight and nothing may be sent");
            if next > end {
                self.set_time(end);
                return &self.seen[from..];
            }
            self.set_time(next);
            if ack == Some(next) {
                self.ack();
            } else {
                self.send();
            }
        }
    }

    fn send(&mut self) {
        let us = self.now_us;
        if self.in_flight == 0 {
            self.first_sent_us = us;
            self.socket.fields.delivered_mstamp = us;
            self.socket.cwnd_event(CaEvent::TxStart);
        }
        let rate = self.socket.pacing().expect("paced");
        assert!(rate > 0);
        self.next_send_ns =
            (us * 1000).max(self.next_send_ns) + u64::from(MSS) * 1_000_000_000 / rate;
        self.in_flight += 1;
        let number = self.next_number;
        self.next_number += 1;
        let fields = &self.socket.fields;
        let mut segment = Segment {
            number,
            sent_us: us,
            arrives_us: 0,
            delivered: fields.delivered,
            delivered_us: fields.delivered_mstamp,
            first_sent_us: self.first_sent_us,
            is_app_limited: fields.app_limited != 0,
        };
        let queued = self.busy_until_us.saturating_sub(us) / SEGMENT_US;
        let dropped = self.lose_every != 0 && number % self.lose_every == self.lose_every - 1;
        if dropped || queued > self.buffer {
            self.lost.push_back(segment);
            return;
        }
        self.busy_until_us = self.busy_until_us.max(us) + SEGMENT_US;
        segment.arrives_us = self.busy_until_us + self.rtt_us;
        self.on_the_way.push_back(segment);
    }

    /// Segments sent before the one now ACKed, three at least, and not arrived are lost.
    fn losses(&mut self, acked: u64) -> u32 {
        let mut losses = 0;
        while self.lost.front().is_some_and(|lost| lost.number + 3 <= acked) {
            let Some(lost) = self.lost.pop_front() else { break };
            losses += 1;
            // What was sent before recovery and lost has to be sent again and ACKed in it.
            match &mut self.recovery {
                Some((first, last)) if lost.number < *first => *last = self.next_number,
                _ => {}
            }
        }
        losses
    }

    fn ack(&mut self) {
        let segment = self.on_the_way.pop_front().unwrap();
        let prior_in_flight = self.in_flight;
        let losses = self.losses(segment.number);
        self.in_flight -= 1 + losses;
        let rtt_us = (self.now_us - segment.sent_us) as u32;
        let fields = &mut self.socket.fields;
        fields.delivered += 1;
        fields.lost += losses;
        fields.packets_out = self.in_flight;
        fields.delivered_mstamp = self.now_us;
        fields.srtt_us = fields.srtt_us - (fields.srtt_us >> 3) + rtt_us;
        fields.rtt_min.s[0].v = fields.rtt_min.s[0].v.min(rtt_us);
        if fields.app_limited != 0 && fields.delivered > fields.app_limited {
            fields.app_limited = 0;
        }
        let send_elapsed = segment.sent_us - segment.first_sent_us;
        let interval_us = send_elapsed.max(self.now_us - segment.delivered_us) as i64;
        self.first_sent_us = segment.sent_us;
        let sample = RateSample {
            prior_delivered: segment.delivered,
            delivered: (fields.delivered - segment.delivered) as i32,
            interval_us: if interval_us < fields.rtt_min.s[0].v.into() { -1 } else { interval_us },
            rtt_us: rtt_us.into(),
            losses: losses as i32,
            acked_sacked: 1,
            prior_in_flight,
            is_app_limited: segment.is_app_limited,
            ..RateSample::default()
        };
        if losses > 0 && self.recovery.is_none() {
            let ssthresh = self.socket.ssthresh();
            self.socket.fields.snd_ssthresh = ssthresh;
            self.socket.set_state(CaState::Recovery);
            self.recovery = Some((self.next_number, self.next_number));
        } else if self.recovery.is_some_and(|(_, last)| segment.number >= last) {
            self.socket.set_state(CaState::Open);
            self.recovery = None;
        }
        self.socket.ack(0, 1, &sample);
        self.seen.push(Seen {
            us: self.now_us,
            cwnd: self.socket.fields.snd_cwnd,
            in_flight: self.in_flight,
            pacing: self.socket.pacing().unwrap() as f64 / RATE,
        });
    }

    /// The application pauses: all that is in flight is ACKed, then nothing happens for a time.
    pub fn idle(&mut self, us: u64) {
        let cwnd = self.socket.fields.snd_cwnd;
        while !self.on_the_way.is_empty() {
            self.socket.fields.app_limited = self.socket.fields.delivered + self.in_flight;
            let next = self.on_the_way[0].arrives_us;
            self.set_time(next);
            self.ack();
        }
        self.in_flight = 0;
        self.lost.clear();
        assert!(self.socket.fields.snd_cwnd >= cwnd.min(4));
        self.socket.fields.app_limited = self.socket.fields.delivered.max(1);
        let now_us = self.now_us + us;
        self.set_time(now_us);
    }

    pub fn delivered(&self) -> u32 {
        self.socket.fields.delivered
    }
}

/// The distinct pacing gains in their order, the 1 % of margin taken off again.
pub fn gains(seen: &[Seen]) -> Vec<f64> {
    let mut gains = Vec::<f64>::new();
    for seen in seen {
        let gain = seen.pacing / 0.99;
        if gains.last().is_none_or(|last| (last - gain).abs() > 0.03) {
            gains.push(gain);
        }
    }
    gains
}

pub fn close(value: f64, to: f64, by: f64) -> bool {
    (value / to - 1.0).abs() <= by
}

pub fn most_in_flight(seen: &[Seen]) -> u32 {
    seen.iter().map(|seen| seen.in_flight).max().unwrap()
}

/// The first stretch of a window below a quarter of the BDP, or below its half.
pub fn cut_to(seen: &[Seen], cwnd: u32) -> (u64, u64) {
    let from = seen.iter().position(|seen| seen.cwnd <= cwnd).expect("the window is cut");
    let to = seen[from..].iter().find(|seen| seen.cwnd > cwnd).expect("and comes back");
    (seen[from].us, to.us)
}
