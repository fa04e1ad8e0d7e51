//! The two versions of BBR over a path of one bottleneck: rate, round trip, buffer.
//!
//! The path is reckoned segment by segment and draws nothing at random. Numbers are the drafts'.

use std::collections::VecDeque;
use std::thread;

use kirikae_algorithms::{Algorithm, CaEvent, CaState, RateSample, Socket};

const MSS: u32 = 1448;
/// 1000 segments a second each; the bandwidth-delay product is 100 segments at 100 ms.
const SEGMENT_US: u64 = 1000;
const RTT_US: u64 = 100_000;
const BDP: u32 = 100;
const RATE: f64 = MSS as f64 * 1e6 / SEGMENT_US as f64;
const SECOND: u64 = 1_000_000;

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
struct Seen {
    us: u64,
    cwnd: u32,
    in_flight: u32,
    /// Pacing rate over the bottleneck's.
    pacing: f64,
}

/// A sender with data without end, its bottleneck, and a receiver that ACKs every segment.
struct Path {
    socket: Socket,
    now_us: u64,
    /// Round trip without a queue.
    rtt_us: u64,
    /// Segments that fit into the queue.
    buffer: u64,
    /// One in so many segments is lost on the way to the queue; 0: none.
    lose_every: u64,
    next_number: u64,
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
    fn new(algorithm: &str, buffer: u64) -> Path {
        Path::with_rtt(algorithm, buffer, RTT_US)
    }

    fn with_rtt(algorithm: &str, buffer: u64, rtt_us: u64) -> Path {
        let mut socket = Socket::new(Algorithm::named("kk_cubic").unwrap(), MSS);
        // The handshake has measured the round trip when init is called.
        socket.fields.rtt_min.s[0].v = rtt_us as u32;
        socket.fields.srtt_us = (rtt_us as u32) << 3;
        socket.fields.tcp_mstamp = SECOND;
        socket.fields.random = 7;
        socket.fields.set_is_cwnd_limited(1);
        socket.switch_to(Algorithm::named(algorithm).unwrap());
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

    fn run_for(&mut self, us: u64) -> &[Seen] {
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
    fn idle(&mut self, us: u64) {
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

    fn delivered(&self) -> u32 {
        self.socket.fields.delivered
    }
}

/// The distinct pacing gains in their order, the 1 % of margin taken off again.
fn gains(seen: &[Seen]) -> Vec<f64> {
    let mut gains = Vec::<f64>::new();
    for seen in seen {
        let gain = seen.pacing / 0.99;
        if gains.last().is_none_or(|last| (last - gain).abs() > 0.03) {
            gains.push(gain);
        }
    }
    gains
}

fn close(value: f64, to: f64, by: f64) -> bool {
    (value / to - 1.0).abs() <= by
}

fn most_in_flight(seen: &[Seen]) -> u32 {
    seen.iter().map(|seen| seen.in_flight).max().unwrap()
}

fn pacing_at_first(algorithm: &str) -> f64 {
    let path = Path::new(algorithm, 1000);
    path.socket.pacing().unwrap() as f64 / (10.0 * f64::from(MSS) / 0.1) / 0.99
}

/// "BBRHighGain = 2/ln(2) ~= 2.89" and "4 * ln(2) ~= 2.77"
#[test]
fn startup_paces_the_window_at_the_gain_of_the_draft() {
    assert!(close(pacing_at_first("kk_bbr"), 2.0 / 2f64.ln(), 0.002));
    assert!(close(pacing_at_first("kk_bbr3"), 4.0 * 2f64.ln(), 0.002));
}

/// The rate doubles in each round trip, up to the bottleneck's; then the queue is drained.
#[test]
fn startup_finds_the_bottleneck_and_drain_empties_the_queue() {
    for (algorithm, drain, window) in [("kk_bbr", 1.0 / 2.89, 2.89), ("kk_bbr3", 0.5, 2.0)] {
        let mut path = Path::new(algorithm, 1000);
        let startup = path.run_for(SECOND).to_vec();
        // BDP 10, 20, 40, 80, 160: five round trips, three to see the plateau, and the queue's.
        let full = *startup.iter().find(|seen| seen.pacing > 2.5).expect("finds the bottleneck");
        assert!(full.us < SECOND + 8 * RTT_US, "{algorithm}: {full:?}");
        let most = f64::from(most_in_flight(&startup));
        assert!((1.5 * 100.0..1.1 * window * 100.0).contains(&most), "{algorithm}: {most}");

        let rest = path.run_for(SECOND).to_vec();
        let all = [startup, rest].concat();
        let drains = |seen: &Seen| seen.us > full.us && close(seen.pacing / 0.99, drain, 0.03);
        let at = all.iter().position(drains);
        let at = at.unwrap_or_else(|| panic!("{algorithm} does not drain"));
        assert!(all[at].us - full.us > 5 * RTT_US, "{algorithm}: {} us", all[at].us - full.us);
        let drained = all[at..].iter().find(|seen| seen.in_flight <= BDP + 7).expect("drained");
        assert!(drained.us - all[at].us < 3 * RTT_US, "{algorithm}: {drained:?}");
        let after = &all[all.iter().position(|seen| seen.us > drained.us + RTT_US).unwrap()..];
        let queue = most_in_flight(after);
        assert!(queue < BDP * 3 / 2, "{algorithm} keeps {queue} in flight");
    }
}

#[test]
fn the_bottleneck_is_kept_busy_with_a_short_queue() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut path = Path::new(algorithm, 1000);
        path.run_for(2 * SECOND);
        let before = path.delivered();
        let seen = path.run_for(2 * SECOND).to_vec();
        let carried = f64::from(path.delivered() - before) / 2000.0;
        assert!(carried > 0.97, "{algorithm} carries {carried} of the bottleneck's rate");
        let mean =
            seen.iter().map(|seen| f64::from(seen.in_flight)).sum::<f64>() / seen.len() as f64;
        assert!((95.0..125.0).contains(&mean), "{algorithm}: {mean} in flight");
    }
}

/// "pacing_gain_cycle = [5/4, 3/4, 1, 1, 1, 1, 1, 1]", each for a round trip.
#[test]
fn version_1_cycles_its_gains() {
    let mut path = Path::new("kk_bbr", 1000);
    path.run_for(2 * SECOND);
    let seen = path.run_for(3 * SECOND).to_vec();
    let gains = gains(&seen);
    assert!(gains.len() >= 9, "{gains:?}");
    let known = [1.25, 0.75, 1.0];
    let start = gains.iter().position(|gain| close(*gain, 1.25, 0.02)).unwrap();
    for (i, gain) in gains[start..].iter().enumerate() {
        assert!(close(*gain, known[i % 3], 0.02), "{gains:?}");
    }
    let probes = (1..seen.len())
        .filter(|&i| seen[i].pacing > 1.2 && seen[i - 1].pacing < 1.2)
        .map(|i| seen[i].us)
        .collect::<Vec<_>>();
    for pair in probes.windows(2) {
        let rounds = (pair[1] - pair[0]) as f64 / RTT_US as f64;
        assert!((7.0..9.0).contains(&rounds), "a cycle of {rounds} round trips");
    }
}

/// 0.90 (down), 1 (cruise and refill), 1.25 (up), with 2 to 3 s before an up, and ProbeRTT in between
/// to begin the wait anew.
#[test]
fn version_3_cycles_its_states() {
    let mut path = Path::new("kk_bbr3", 1000);
    path.run_for(2 * SECOND);
    let seen = path.run_for(20 * SECOND).to_vec();
    for gain in gains(&seen) {
        let known = [1.25, 0.9, 1.0].into_iter().any(|known| close(gain, known, 0.02));
        assert!(known, "a gain of {gain}");
    }
    let ups = (1..seen.len())
        .filter(|&i| seen[i].pacing > 1.2 && seen[i - 1].pacing < 1.2)
        .collect::<Vec<_>>();
    assert!(ups.len() >= 4, "{} probes in 20 s", ups.len());
    for pair in ups.windows(2) {
        let seconds = (seen[pair[1]].us - seen[pair[0]].us) as f64 / 1e6;
        assert!((2.0..6.0).contains(&seconds), "{seconds} s between two probes");
        let down = seen[pair[0]..pair[1]].iter().find(|seen| seen.pacing < 1.2).unwrap();
        assert!(close(down.pacing / 0.99, 0.9, 0.02), "down follows up: {down:?}");
    }
}

/// The first stretch of a window below a quarter of the BDP, or below its half.
fn cut_to(seen: &[Seen], cwnd: u32) -> (u64, u64) {
    let from = seen.iter().position(|seen| seen.cwnd <= cwnd).expect("the window is cut");
    let to = seen[from..].iter().find(|seen| seen.cwnd > cwnd).expect("and comes back");
    (seen[from].us, to.us)
}

/// "ProbeRTTInterval = 10 seconds", "BBRMinPipeCwnd (four packets)", "ProbeRTTDuration (200 ms)"
#[test]
fn version_1_probes_the_round_trip_every_ten_seconds() {
    let mut path = Path::new("kk_bbr", 1000);
    let seen = path.run_for(23 * SECOND).to_vec();
    let (from, to) = cut_to(&seen, 4);
    assert!(seen.iter().all(|seen| seen.cwnd >= 4));
    assert!((10 * SECOND..11_500_000).contains(&(from - SECOND)), "after {} us", from - SECOND);
    let low = seen.iter().find(|seen| seen.us >= from && seen.in_flight <= 4).unwrap().us;
    assert!((200_000..200_000 + 2 * RTT_US).contains(&(to - low)), "for {} us", to - low);
    let before = seen.iter().rfind(|seen| seen.us < from).unwrap();
    let after = seen.iter().find(|seen| seen.us >= to).unwrap();
    assert!(after.cwnd >= before.cwnd, "{before:?} {after:?}");
    let rest = &seen[seen.iter().position(|seen| seen.us == to).unwrap()..];
    let (again, _) = cut_to(rest, 4);
    assert!((10 * SECOND..11 * SECOND).contains(&(again - to)), "again after {} us", again - to);
}

/// "BBR.ProbeRTTInterval ... 5 secs", "BBR.ProbeRTTCwndGain ... 0.5"
#[test]
fn version_3_probes_the_round_trip_every_five_seconds_with_half_the_bdp() {
    let mut path = Path::new("kk_bbr3", 1000);
    let seen = path.run_for(13 * SECOND).to_vec();
    let at_first = seen.iter().position(|seen| seen.us > 2 * SECOND).unwrap();
    let (from, to) = cut_to(&seen[at_first..], BDP / 2 + 2);
    let lowest = seen[at_first..].iter().map(|seen| seen.cwnd).min().unwrap();
    assert!((BDP / 2 - 2..=BDP / 2 + 2).contains(&lowest), "{lowest}");
    assert!((5 * SECOND..6_500_000).contains(&(from - SECOND)), "after {} us", from - SECOND);
    assert!((200_000..200_000 + 4 * RTT_US).contains(&(to - from)), "for {} us", to - from);
}

/// Of one loss in a recovery: "cwnd = packets_in_flight + max(packets_delivered, 1)", and back.
#[test]
fn version_1_conserves_packets_and_restores_the_window() {
    let mut path = Path::new("kk_bbr", 1000);
    path.run_for(3 * SECOND);
    let cwnd = path.socket.fields.snd_cwnd;
    path.lose_every = path.next_number + 50;
    let seen = path.run_for(SECOND).to_vec();
    let entered = seen.iter().find(|seen| seen.cwnd < cwnd - 20).expect("enters recovery");
    assert!(entered.cwnd <= entered.in_flight + 2, "{entered:?}");
    let first_round =
        seen.iter().filter(|seen| (0..RTT_US / 2).contains(&(seen.us.wrapping_sub(entered.us))));
    assert!(first_round.map(|seen| seen.cwnd).max().unwrap() <= entered.cwnd + 2);
    assert_eq!(seen.last().unwrap().cwnd, cwnd);
}

/// "paces packets at exactly BBR.BtlBw", with the window as it was.
#[test]
fn after_idle_the_rate_is_the_bottlenecks_and_the_window_stays() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut path = Path::new(algorithm, 1000);
        path.run_for(3 * SECOND);
        path.idle(11 * SECOND);
        let cwnd = path.socket.fields.snd_cwnd;
        path.socket.cwnd_event(CaEvent::TxStart);
        let pacing = path.socket.pacing().unwrap() as f64 / RATE;
        assert!(close(pacing, 0.99, 0.01), "{algorithm}: {pacing}");
        assert!((150..250).contains(&cwnd), "{algorithm}: {cwnd}");
        let seen = path.run_for(SECOND);
        assert!(seen.iter().all(|seen| seen.cwnd > 150), "{algorithm} leaves out ProbeRTT");
    }
}

/// A quarter of all segments lost, at a steady rate: that rate is used, without cycling.
#[test]
fn version_1_recognises_a_policer() {
    let mut path = Path::new("kk_bbr", 1000);
    path.run_for(2 * SECOND);
    path.lose_every = 4;
    path.run_for(2 * SECOND);
    let policed = gains(path.run_for(2 * SECOND));
    assert_eq!(policed.len(), 1, "{policed:?}");
    path.lose_every = 0;
    let free = gains(path.run_for(8 * SECOND));
    assert!(free.len() >= 3, "48 round trips later it probes again: {free:?}");
}

/// 1 % of losses, one at a time, say nothing about the path's capacity.
#[test]
fn one_percent_of_loss_is_borne() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut path = Path::new(algorithm, 1000);
        path.lose_every = 100;
        path.run_for(5 * SECOND);
        let before = path.delivered();
        path.run_for(20 * SECOND);
        let carried = f64::from(path.delivered() - before) / 20_000.0;
        assert!(carried > 0.85, "{algorithm} carries {carried}");
    }
}

/// A buffer of a tenth of the BDP: version 3 stays below what overflows it, version 1 does not.
#[test]
fn version_3_reacts_to_more_than_two_percent_of_loss() {
    let lost = |algorithm| {
        let mut path = Path::new(algorithm, u64::from(BDP) / 10);
        path.run_for(5 * SECOND);
        let (lost, delivered) = (path.socket.fields.lost, path.delivered());
        let seen = path.run_for(20 * SECOND).to_vec();
        let most = seen.iter().map(|seen| seen.cwnd).max().unwrap();
        let delivered = path.delivered() - delivered;
        let carried = f64::from(delivered) / 20_000.0;
        (most, f64::from(path.socket.fields.lost - lost) / f64::from(delivered), carried)
    };
    let (cwnd_1, lost_1, _) = lost("kk_bbr");
    let (cwnd_3, lost_3, carried_3) = lost("kk_bbr3");
    assert!(cwnd_1 >= 2 * BDP, "{cwnd_1}");
    assert!(cwnd_3 <= BDP * 3 / 2, "inflight_longterm bounds the window: {cwnd_3}");
    assert!(lost_3 < lost_1 / 2.0 && lost_3 < 0.02, "lost {lost_1} and {lost_3}");
    assert!(carried_3 > 0.8, "{carried_3}");
}

/// Six ACKs with losses, more than 2 % in a round trip: Startup ends before the pipe is full.
#[test]
fn version_3_leaves_startup_on_loss() {
    let most = |lose_every| {
        let mut path = Path::with_rtt("kk_bbr3", 4000, 8 * RTT_US);
        path.lose_every = lose_every;
        most_in_flight(path.run_for(10 * SECOND))
    };
    let (lossy, clean) = (most(10), most(0));
    assert!(clean > 12 * BDP, "{clean}");
    assert!((60..8 * BDP / 2).contains(&lossy), "{lossy} with losses, {clean} without");
}

/// Losses of one round trip prove to be none: the bounds and the window are taken back.
#[test]
fn version_3_undoes_a_spurious_recovery() {
    let mut path = Path::new("kk_bbr3", 1000);
    path.run_for(3 * SECOND);
    let cwnd = path.socket.fields.snd_cwnd;
    path.lose_every = 8;
    path.run_for(RTT_US / 2);
    path.lose_every = 0;
    path.run_for(2 * RTT_US);
    let bounded = path.socket.fields.snd_cwnd;
    assert!(bounded < cwnd * 3 / 4, "{bounded} after {cwnd}");
    assert_eq!(path.socket.undo_cwnd(), cwnd);
    path.socket.fields.snd_cwnd = cwnd;
    let seen = path.run_for(RTT_US);
    assert!(seen.iter().all(|seen| seen.cwnd >= cwnd), "the bound is gone");
}

#[test]
fn version_3_without_memory_keeps_still() {
    let mut path = Path::new("kk_bbr3", 1000);
    path.socket.switch_to(Algorithm::named("kk_cubic").unwrap());
    path.socket.fields.snd_cwnd = 50;
    path.socket.switch_to(Algorithm::named("kk_bbr3").unwrap());
    let memory = path.socket.large_state.take();
    assert!(path.run_for(SECOND).iter().all(|seen| seen.cwnd == 50));
    path.lose_every = 20;
    let seen = path.run_for(SECOND).to_vec();
    assert!(seen.iter().all(|seen| (4..=50).contains(&seen.cwnd)));
    path.lose_every = 0;
    path.socket.large_state = memory;
    path.run_for(2 * SECOND);
    assert!(path.socket.fields.snd_cwnd > BDP, "goes on when there is memory again");
}

/// ssthresh is out of the way meanwhile, and pacing is the algorithm's only as long as it lasts.
#[test]
fn the_successor_finds_ssthresh_and_no_pacing() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let cubic = Algorithm::named("kk_cubic").unwrap();
        let mut path = Path::new(algorithm, 1000);
        assert_eq!(path.socket.fields.snd_ssthresh, 0x7fff_ffff);
        assert_eq!(path.socket.sndbuf_expand(), 3);
        path.socket.switch_to(cubic);
        assert_eq!(path.socket.fields.snd_ssthresh, 0x7fff_ffff, "{algorithm}: slow start goes on");
        assert_eq!(path.socket.pacing(), None, "{algorithm}");

        let mut path = Path::new(algorithm, 1000);
        path.run_for(2 * SECOND);
        path.socket.switch_to(cubic);
        let (cwnd, ssthresh) = (path.socket.fields.snd_cwnd, path.socket.fields.snd_ssthresh);
        assert_eq!(ssthresh, cwnd, "{algorithm} has filled the pipe");

        path.socket.fields.snd_ssthresh = 33;
        path.socket.switch_to(Algorithm::named(algorithm).unwrap());
        assert_eq!(path.socket.fields.snd_ssthresh, 0x7fff_ffff);
        path.socket.switch_to(cubic);
        assert_eq!(path.socket.fields.snd_ssthresh, 33, "{algorithm}");
    }
}

/// Left while ProbeRTT holds the window down: slow start takes the successor back to what fills the
/// pipe.
#[test]
fn the_successor_is_not_held_to_the_window_of_probe_rtt() {
    for (algorithm, low) in [("kk_bbr", 4), ("kk_bbr3", BDP / 2 + 2)] {
        let mut path = Path::new(algorithm, 1000);
        path.run_for(2 * SECOND);
        while path.socket.fields.snd_cwnd > low {
            path.run_for(RTT_US / 10);
            assert!(path.now_us < 20 * SECOND, "{algorithm} never probes the round trip");
        }
        path.socket.switch_to(Algorithm::named("kk_cubic").unwrap());
        let (cwnd, ssthresh) = (path.socket.fields.snd_cwnd, path.socket.fields.snd_ssthresh);
        assert!(cwnd <= low && ssthresh >= BDP, "{algorithm}: {cwnd}, {ssthresh}");
    }
}

/// Switched to in mid-flight, at a full pipe: the window is not cut, the rate not below before.
#[test]
fn taken_up_in_mid_flight_the_window_stays() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut path = Path::new("kk_bbr", 1000);
        path.run_for(3 * SECOND);
        path.socket.switch_to(Algorithm::named("kk_cubic").unwrap());
        path.socket.fields.snd_cwnd = 120;
        path.socket.switch_to(Algorithm::named(algorithm).unwrap());
        let seen = path.run_for(2 * RTT_US);
        assert!(seen.iter().all(|seen| seen.cwnd >= 120 && seen.pacing > 2.0), "{algorithm}");
        let before = path.delivered();
        path.run_for(2 * SECOND);
        assert!(path.delivered() - before > 1900, "{algorithm}");
    }
}

/// No state is shared between sockets, and the same seed gives the same run.
#[test]
fn the_same_run_on_another_thread() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let run = move |seed| {
            let mut path = Path::new(algorithm, 20);
            path.socket.fields.random = seed;
            path.run_for(12 * SECOND).to_vec()
        };
        let threads = [7, 7, 8].map(|seed| thread::spawn(move || run(seed)));
        let [a, b, c] = threads.map(|thread| thread.join().unwrap());
        assert!(a == b, "{algorithm}");
        assert!(a != c, "{algorithm}: the seed tells");
    }
}
