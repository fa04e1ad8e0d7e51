//! A socket as the kernel would keep it, and what happens to it in a round trip.
#![allow(dead_code)]

use kirikae_algorithms::{Algorithm, CaEvent, CaState, RateSample, Socket};

pub const MSS: u32 = 1448;

pub fn socket(name: &str, rtt_us: u32) -> Socket {
    socket_of(Algorithm::named(name).unwrap(), rtt_us)
}

pub fn socket_of(algorithm: Algorithm, rtt_us: u32) -> Socket {
    let mut socket = Socket::new(algorithm, MSS);
    socket.connection = Some(Box::default());
    socket.fields.rtt_min.s[0].v = rtt_us;
    socket.fields.srtt_us = rtt_us << 3;
    socket.fields.tcp_mstamp = 1_000_000;
    socket.fields.set_is_cwnd_limited(1);
    socket
}

/// A socket in congestion avoidance with this window.
pub fn avoiding(name: &str, rtt_us: u32, cwnd: u32) -> Socket {
    avoiding_with(Algorithm::named(name).unwrap(), rtt_us, cwnd)
}

/// The same, also of an algorithm with parameters or of the kernel's own.
pub fn avoiding_with(algorithm: Algorithm, rtt_us: u32, cwnd: u32) -> Socket {
    let mut socket = socket_of(algorithm, rtt_us);
    socket.fields.snd_cwnd = cwnd;
    socket.fields.snd_ssthresh = cwnd.min(cwnd / 2 + 1);
    socket
}

/// The same, taken over from another algorithm just now.
pub fn taken_over(algorithm: Algorithm, rtt_us: u32, cwnd: u32) -> Socket {
    let mut socket = avoiding("kk_reno", rtt_us, cwnd);
    socket.fields.data_segs_out = cwnd;
    socket.switch_to(algorithm);
    socket
}

/// Algorithms that the kernel grows, cuts and paces itself between their callbacks: not the bbrs,
/// which tests/bbr.rs is about.
pub fn window_algorithms() -> impl Iterator<Item = Algorithm> {
    Algorithm::all().filter(|algorithm| !algorithm.controls_alone())
}

/// Whether it turns pacing on as soon as it takes a connection up, of those that leave the rate to the kernel.
pub fn is_always_paced(algorithm: Algorithm) -> bool {
    algorithm.name() == "kk_hybla"
}

/// What the path carries in a round trip, segments. Only a bbr asks.
pub const CAPACITY: u32 = 60;

/// The sequence number up to which everything is ACKed.
fn snd_una(socket: &Socket) -> u32 {
    socket.fields.delivered.wrapping_mul(MSS)
}

/// As much is in flight as the window allows.
fn send(socket: &mut Socket) {
    let in_flight = socket.fields.snd_cwnd.wrapping_mul(MSS);
    let snd_nxt = snd_una(socket).wrapping_add(in_flight);
    if snd_nxt.wrapping_sub(socket.fields.snd_nxt) <= u32::MAX / 2 {
        socket.fields.snd_nxt = snd_nxt;
        socket.fields.lsndtime_us = socket.fields.tcp_mstamp;
    }
}

/// An ACK of so many segments of a full window, whereupon as much is sent as the window allows.
pub fn ack(socket: &mut Socket, segments: u32, rtt_us: u32) {
    let in_flight = socket.fields.snd_cwnd;
    let fields = &mut socket.fields;
    fields.delivered += segments;
    fields.snd_una = fields.delivered.wrapping_mul(MSS);
    fields.bytes_acked += u64::from(segments) * u64::from(MSS);
    fields.delivered_mstamp = fields.tcp_mstamp;
    fields.packets_out = in_flight;
    let sample = RateSample {
        prior_delivered: fields.delivered - in_flight.min(fields.delivered),
        delivered: in_flight.min(CAPACITY) as i32,
        interval_us: rtt_us.into(),
        rtt_us: rtt_us.into(),
        acked_sacked: segments,
        prior_in_flight: in_flight,
        ..RateSample::default()
    };
    socket.pkts_acked(segments, Some(rtt_us), in_flight);
    socket.ack(snd_una(socket), segments, &sample);
    send(socket);
}

/// One round trip that takes so long: every ACK is of `per_ack` segments of the window.
pub fn round_trip_of(socket: &mut Socket, rtt_us: u32, per_ack: u32) {
    let acks = (socket.fields.snd_cwnd / per_ack).max(1);
    // A bbr would take ACKs that come faster than the path delivers for aggregated ones.
    let most = if socket.algorithm().controls_alone() { CAPACITY } else { u32::MAX };
    send(socket);
    for _ in 0..acks {
        socket.fields.tcp_mstamp += u64::from(rtt_us / acks.min(most));
        ack(socket, per_ack, rtt_us);
    }
}

/// One round trip: every segment of the window is ACKed by itself.
pub fn round_trip(socket: &mut Socket) {
    round_trip_of(socket, socket.fields.rtt_min.s[0].v, 1);
}

/// How many segments the window grows in one round trip.
pub fn growth(socket: &mut Socket) -> u32 {
    let before = socket.fields.snd_cwnd;
    round_trip(socket);
    socket.fields.snd_cwnd - before
}

/// A loss as the kernel goes through it: ssthresh, Recovery, and at its end cwnd = ssthresh.
pub fn loss(socket: &mut Socket) {
    socket.fields.prior_cwnd = socket.fields.snd_cwnd;
    socket.fields.snd_ssthresh = socket.ssthresh();
    socket.set_state(CaState::Recovery);
    socket.fields.snd_cwnd = socket.fields.snd_ssthresh;
    socket.set_state(CaState::Open);
}

/// What the kernel does around an idle gap: the event, the cut, and the event after it.
pub fn idle(socket: &mut Socket, gap_us: u64) {
    idle_before(socket, gap_us, 46);
}

/// The same, and then so many segments are written.
pub fn idle_before(socket: &mut Socket, gap_us: u64, segments: u32) {
    socket.cwnd_event(CaEvent::CwndRestart);
    socket.fields.snd_cwnd = 10;
    socket.cwnd_event(CaEvent::CwndRestart);
    socket.fields.tcp_mstamp += gap_us;
    socket.fields.write_seq = socket.fields.snd_nxt + segments * socket.fields.mss_cache;
    socket.cwnd_event(CaEvent::TxStart);
}

/// A burst of 46 segments whose ACKs come back at `mbps`.
pub fn burst(socket: &mut Socket, mbps: u64) {
    burst_of(socket, MSS, mbps);
}

/// The same with so many bytes in each segment.
pub fn burst_of(socket: &mut Socket, bytes: u32, mbps: u64) {
    idle(socket, 2_000_000);
    socket.fields.bytes_sent += 46 * u64::from(bytes);
    socket.fields.data_segs_out += 46;
    socket.fields.tcp_mstamp += 100_000;
    for pair in 1..=23 {
        socket.fields.tcp_mstamp += 2 * u64::from(bytes) * 8 / mbps;
        socket.fields.delivered += 2;
        socket.pkts_acked(2, Some(100_000), 2 * pair);
    }
}
