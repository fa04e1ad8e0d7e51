//! H-TCP's formulas: draft-leith-tcp-htcp-06.

mod common;

use common::{ack, avoiding, idle, loss, round_trip_of, socket_of};
use kirikae_algorithms::{Algorithm, CaEvent, CaState, Socket};

fn htcp() -> Algorithm {
    Algorithm::named("kk_htcp").unwrap()
}

fn without_scaling() -> Algorithm {
    htcp().with("rtt_scaling", 0).unwrap()
}

/// A socket with a window of 1000 segments, just after a loss.
fn after_loss(algorithm: Algorithm, rtt_us: u32) -> Socket {
    let mut socket = socket_of(algorithm, rtt_us);
    socket.fields.snd_cwnd = 2000;
    loss(&mut socket);
    assert_eq!(socket.fields.snd_cwnd, 1000, "beta = 0.5");
    socket
}

/// Segments ACKed, one by one, until the window has grown by one: 1000 / alpha.
fn acked_for_one(socket: &mut Socket) -> u32 {
    socket.fields.snd_cwnd = 1000;
    socket.fields.snd_cwnd_cnt = 0;
    for acked in 0..10_000 {
        socket.cong_avoid(0, 1);
        if socket.fields.snd_cwnd > 1000 {
            return acked;
        }
    }
    panic!("does not grow");
}

/// 2 (1 - beta) = 1: alpha = 1 + 10 (Delta - 1) + 0.25 (Delta - 1)^2, rounded down.
#[test]
fn alpha_is_by_the_time_since_congestion() {
    for (delta_ms, alpha) in
        [(0, 1), (500, 1), (1000, 1), (1100, 2), (2000, 11), (3000, 22), (5000, 45), (11_000, 126)]
    {
        let mut socket = after_loss(without_scaling(), 40_000);
        socket.fields.tcp_mstamp += delta_ms * 1000;
        assert_eq!(acked_for_one(&mut socket), 1000u32.div_ceil(alpha), "after {delta_ms} ms");
    }
}

/// alpha in proportion to the RTT, 1 at 100 ms.
#[test]
fn alpha_is_scaled_by_the_rtt() {
    for (rtt_ms, alpha) in [(5, 2), (50, 11), (100, 22), (200, 44), (300, 44)] {
        let mut socket = after_loss(htcp(), rtt_ms * 1000);
        socket.fields.tcp_mstamp += 3_000_000;
        assert_eq!(acked_for_one(&mut socket), 1000u32.div_ceil(alpha), "RTT {rtt_ms} ms");
    }
}

/// Delta counts from the end of the congestion, unless there was none.
#[test]
fn a_reduction_taken_back_was_no_congestion() {
    for (prior_cwnd, alpha) in [(2000, 1), (1000, 22)] {
        let mut socket = after_loss(without_scaling(), 100_000);
        socket.fields.tcp_mstamp += 2_000_000;
        socket.set_state(CaState::Recovery);
        socket.set_state(CaState::Loss);
        socket.fields.tcp_mstamp += 1_000_000;
        socket.fields.prior_cwnd = prior_cwnd;
        socket.set_state(CaState::Open);
        assert_eq!(acked_for_one(&mut socket), 1000u32.div_ceil(alpha), "from {prior_cwnd}");
    }
}

/// 3 s with something in flight, and an hour with nothing.
#[test]
fn idle_time_is_not_counted() {
    let mut socket = after_loss(without_scaling(), 100_000);
    socket.fields.tcp_mstamp += 3_000_000;
    ack(&mut socket, 1, 100_000);
    idle(&mut socket, 3_600_000_000);
    assert_eq!(acked_for_one(&mut socket), 1000u32.div_ceil(22));
}

/// Switched in while nothing was in flight: not even the time before that is counted back.
#[test]
fn idle_time_before_a_switch_is_not_counted_either() {
    let mut socket = avoiding("kk_reno", 100_000, 1000);
    ack(&mut socket, 1, 100_000);
    socket.fields.tcp_mstamp += 50_000_000;
    socket.switch_to(without_scaling());
    socket.fields.tcp_mstamp += 50_000_000;
    socket.cwnd_event(CaEvent::TxStart);
    assert_eq!(acked_for_one(&mut socket), 1000, "alpha = 1");
    socket.fields.tcp_mstamp += 3_000_000;
    assert_eq!(acked_for_one(&mut socket), 1000u32.div_ceil(22));
}

/// 20 round trips from 100 ms up to `rtt_max_ms`, at the throughput of `cwnd` in 100 ms; then a loss.
/// What was left of the window, in 1/1000.
fn epoch(socket: &mut Socket, rtt_max_ms: u32, cwnd: u32) -> u32 {
    for n in 0..20 {
        let rtt_ms = (100 + 10 * n).min(rtt_max_ms);
        socket.fields.snd_cwnd = cwnd * rtt_ms / 100;
        round_trip_of(socket, rtt_ms * 1000, 2);
    }
    socket.fields.snd_cwnd = 1000;
    loss(socket);
    socket.fields.snd_cwnd
}

/// "beta <- RTT_min / RTT_max", between 0.5 and 0.8, once throughput is known to be steady.
#[test]
fn backoff_gives_up_the_queue() {
    for (rtt_max_ms, beta_1000) in [(110, 800), (150, 667), (180, 556), (250, 500)] {
        let mut socket = avoiding("kk_htcp", 100_000, 500);
        let backoffs = [(); 4].map(|()| epoch(&mut socket, rtt_max_ms, 500));
        assert_eq!(backoffs[..2], [500, 500], "nothing to compare with, nothing steady yet");
        for backoff in &backoffs[2..] {
            assert!(backoff.abs_diff(beta_1000) <= 2, "{backoffs:?} at {rtt_max_ms} ms");
        }
    }
}

#[test]
fn without_adaptive_backoff_it_is_half() {
    let mut socket = socket_of(htcp().with("adaptive_backoff", 0).unwrap(), 100_000);
    socket.fields.snd_ssthresh = 5;
    assert_eq!([(); 4].map(|()| epoch(&mut socket, 150, 500)), [500; 4]);
}

/// "|B(k+1) - B(k)| / B(k) > 0.2": half, and once more until it is steady again.
#[test]
fn backoff_is_half_when_throughput_has_changed() {
    let mut socket = avoiding("kk_htcp", 100_000, 500);
    let throughputs = [500, 500, 500, 560, 300, 300, 300];
    let backoffs = throughputs.map(|cwnd| epoch(&mut socket, 150, cwnd));
    assert_eq!(backoffs.map(|b| b > 600), [false, false, true, true, false, false, true]);

    let mut socket = socket_of(htcp().with("bandwidth_switch", 0).unwrap(), 100_000);
    socket.fields.snd_ssthresh = 5;
    let backoffs = throughputs.map(|cwnd| epoch(&mut socket, 150, cwnd));
    assert_eq!(backoffs.map(|b| b > 600), [false, true, true, true, true, true, true]);
}

/// An RTT 20 ms beyond all others is not believed; what was once the highest fades.
#[test]
fn an_outlier_is_no_rtt_max_and_an_old_one_fades() {
    let mut socket = avoiding("kk_htcp", 100_000, 500);
    for _ in 0..2 {
        epoch(&mut socket, 110, 500);
    }
    ack(&mut socket, 1, 300_000);
    assert_eq!(epoch(&mut socket, 110, 500), 800);

    let mut socket = avoiding("kk_htcp", 100_000, 500);
    for _ in 0..3 {
        epoch(&mut socket, 150, 500);
    }
    let mut before = epoch(&mut socket, 100, 500);
    for _ in 0..20 {
        let backoff = epoch(&mut socket, 100, 500);
        assert!(backoff > before || backoff == 800, "{backoff} after {before}");
        before = backoff;
    }
    assert_eq!(before, 800);
}

/// "alpha <- 2 (1 - beta) alpha": with beta = 0.8, 2/5 of what it is with 0.5.
#[test]
fn alpha_is_by_what_was_given_up() {
    let mut socket = socket_of(without_scaling(), 100_000);
    socket.fields.snd_ssthresh = 5;
    let backoffs = [(); 3].map(|()| epoch(&mut socket, 110, 500));
    assert_eq!(backoffs, [500, 500, 800]);
    assert_eq!(acked_for_one(&mut socket), 1000 * 5 / 2);
}

/// An RTT of 8 ms tells too little of the queue.
#[test]
fn backoff_is_half_at_a_short_round_trip() {
    let mut socket = avoiding("kk_htcp", 8_000, 500);
    for _ in 0..4 {
        for _ in 0..20 {
            socket.fields.snd_cwnd = 500;
            round_trip_of(&mut socket, 9_000, 2);
        }
        socket.fields.snd_cwnd = 1000;
        loss(&mut socket);
        assert_eq!(socket.fields.snd_cwnd, 500);
    }
}

/// B(k) is the highest throughput between two congestions: a slow end of one is no change.
#[test]
fn throughput_is_the_highest() {
    let mut socket = avoiding("kk_htcp", 100_000, 500);
    for n in 0..4 {
        for round in 0..30 {
            socket.fields.snd_cwnd = if round < 20 || n < 3 { 500 } else { 250 };
            round_trip_of(&mut socket, 100_000, 2);
        }
        socket.fields.snd_cwnd = 1000;
        loss(&mut socket);
    }
    assert_eq!(socket.fields.snd_cwnd, 800);
}

/// The ACK that closes a hole is of what had arrived before: no throughput.
#[test]
fn throughput_is_not_taken_in_recovery() {
    let mut socket = avoiding("kk_htcp", 100_000, 500);
    for _ in 0..3 {
        epoch(&mut socket, 110, 500);
    }
    for _ in 0..20 {
        socket.fields.snd_cwnd = 500;
        round_trip_of(&mut socket, 100_000, 2);
    }
    socket.fields.prior_cwnd = socket.fields.snd_cwnd;
    socket.set_state(CaState::Recovery);
    ack(&mut socket, 5000, 100_000);
    socket.set_state(CaState::Open);
    for _ in 0..3 {
        socket.fields.snd_cwnd = 500;
        round_trip_of(&mut socket, 100_000, 2);
    }
    assert_eq!(epoch(&mut socket, 110, 500), 800);
}

/// Neither time in which nothing was in flight nor recovery is part of a throughput sample.
#[test]
fn throughput_leaves_idle_time_and_recovery_out() {
    for recovering in [false, true] {
        let mut socket = avoiding("kk_htcp", 100_000, 500);
        for _ in 0..3 {
            epoch(&mut socket, 110, 500);
        }
        socket.fields.snd_cwnd = 500;
        round_trip_of(&mut socket, 100_000, 2);
        if recovering {
            socket.fields.prior_cwnd = 1000;
            socket.set_state(CaState::Recovery);
            ack(&mut socket, 1, 100_000);
            socket.fields.tcp_mstamp += 5_000_000;
            socket.set_state(CaState::Open);
        } else {
            idle(&mut socket, 5_000_000);
        }
        socket.fields.snd_cwnd = 500;
        round_trip_of(&mut socket, 100_000, 2);
        socket.fields.snd_cwnd = 1000;
        loss(&mut socket);
        assert_eq!(socket.fields.snd_cwnd, 800, "recovering: {recovering}");
    }
}
