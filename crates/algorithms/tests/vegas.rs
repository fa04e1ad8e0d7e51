//! Vegas' rules: Brakmo, Peterson, JSAC 1995.

mod common;

use common::{ack, avoiding, growth, loss, round_trip_of, socket, socket_of, taken_over};
use kirikae_algorithms::{Algorithm, CaEvent, CaState, Socket};

const BASE_RTT_US: u32 = 100_000;
const PIPE: u32 = 50;

fn vegas() -> Algorithm {
    Algorithm::named("kk_vegas").unwrap()
}

/// A path that carries 50 segments in 100 ms and keeps the rest in its queue.
fn rtt_of(cwnd: u32) -> u32 {
    BASE_RTT_US * cwnd.max(PIPE) / PIPE
}

/// Round trips over that path.
fn run(socket: &mut Socket, round_trips: u32) {
    for _ in 0..round_trips {
        let rtt_us = rtt_of(socket.fields.snd_cwnd);
        round_trip_of(socket, rtt_us, 1);
    }
}

/// As if it had been there from the start, with an empty queue.
fn knowing_the_path(algorithm: Algorithm, cwnd: u32) -> Socket {
    let mut socket = socket_of(algorithm, BASE_RTT_US);
    socket.fields.snd_ssthresh = 5;
    run(&mut socket, 2);
    socket.fields.snd_cwnd = cwnd;
    socket
}

/// "alpha < Diff < beta": between 2 and 4 segments in the queue, from below and from above.
#[test]
fn the_queue_holds_alpha_to_beta_segments() {
    for from in [30, 49, 55, 60, 80] {
        let mut socket = knowing_the_path(vegas(), from);
        run(&mut socket, 60);
        let settled = socket.fields.snd_cwnd;
        assert!((PIPE + 2..=PIPE + 4).contains(&settled), "{settled} from {from}");
        run(&mut socket, 10);
        assert_eq!(socket.fields.snd_cwnd, settled, "stays");
    }
}

#[test]
fn alpha_and_beta_can_be_set() {
    let algorithm = vegas().with("alpha", 10).unwrap().with("beta", 12).unwrap();
    for from in [40, 80] {
        let mut socket = knowing_the_path(algorithm, from);
        run(&mut socket, 60);
        let settled = socket.fields.snd_cwnd;
        assert!((PIPE + 10..=PIPE + 12).contains(&settled), "{settled} from {from}");
    }
}

/// By one segment a round trip, either way. (A round trip is one segment more than the window.)
#[test]
fn the_window_moves_by_one_a_round_trip() {
    let moved = |from| {
        let mut socket = knowing_the_path(vegas(), from);
        run(&mut socket, 2);
        let before = socket.fields.snd_cwnd;
        run(&mut socket, 10);
        socket.fields.snd_cwnd.abs_diff(before)
    };
    assert!((9..=10).contains(&moved(30)), "{}", moved(30));
    assert!((9..=10).contains(&moved(90)), "{}", moved(90));
}

/// gamma: slow start ends where the queue fills, and does not come back. What is measured is a round
/// trip old by then: twice what the path carries is the most.
#[test]
fn slow_start_ends_before_the_queue_is_full() {
    let mut socket = socket_of(vegas(), BASE_RTT_US);
    run(&mut socket, 5);
    let left = socket.fields.snd_cwnd;
    assert!((PIPE..=2 * PIPE + 1).contains(&left), "{left}");
    assert!(socket.fields.snd_ssthresh <= left);
    run(&mut socket, 60);
    let settled = socket.fields.snd_cwnd;
    assert!((PIPE + 2..=PIPE + 4).contains(&settled), "{settled}");

    let mut without = socket_of(vegas().with("gamma", 1000).unwrap(), BASE_RTT_US);
    run(&mut without, 5);
    assert!(without.fields.snd_cwnd >= 300, "{}", without.fields.snd_cwnd);
}

/// A queue that its predecessor left is not taken for the path.
#[test]
fn taken_over_in_mid_flight_base_rtt_is_known() {
    let mut socket = taken_over(vegas(), BASE_RTT_US, 90);
    run(&mut socket, 60);
    let settled = socket.fields.snd_cwnd;
    assert!((PIPE + 2..=PIPE + 4).contains(&settled), "{settled}");
}

/// After idle time the path may be longer; the old BaseRTT would have made the window 2.
#[test]
fn base_rtt_is_taken_anew_after_idle_time() {
    let mut socket = knowing_the_path(vegas(), 30);
    run(&mut socket, 5);
    socket.cwnd_event(CaEvent::TxStart);
    let before = socket.fields.snd_cwnd;
    for _ in 0..10 {
        round_trip_of(&mut socket, 3 * BASE_RTT_US, 1);
    }
    assert!(socket.fields.snd_cwnd >= before + 9, "{}", socket.fields.snd_cwnd);
}

#[test]
fn outside_open_it_is_reno() {
    let mut socket = knowing_the_path(vegas(), 90);
    socket.set_state(CaState::Disorder);
    for grown in 1..=3 {
        run(&mut socket, 1);
        let at = socket.fields.snd_cwnd;
        assert!((90 + grown - 1..=90 + grown).contains(&at), "{at} after {grown}");
    }
    socket.set_state(CaState::Open);
    let before = socket.fields.snd_cwnd;
    run(&mut socket, 3);
    assert!(socket.fields.snd_cwnd < before);
    loss(&mut socket);
    assert!((44..=46).contains(&socket.fields.snd_cwnd));
}

/// The queue was empty until the state was Open again; what counts is what is measured since.
#[test]
fn a_round_trip_begins_with_open() {
    let mut socket = knowing_the_path(vegas(), 90);
    run(&mut socket, 2);
    socket.set_state(CaState::Disorder);
    round_trip_of(&mut socket, BASE_RTT_US, 1);
    socket.set_state(CaState::Open);
    let before = socket.fields.snd_cwnd;
    for _ in 0..=before {
        ack(&mut socket, 1, rtt_of(before));
    }
    assert_eq!(socket.fields.snd_cwnd, before - 1, "one decision, by the full queue");
}

/// Two samples a round trip: additive increase, whatever they say.
#[test]
fn few_samples_decide_nothing() {
    let mut socket = avoiding("kk_vegas", BASE_RTT_US, 100);
    growth(&mut socket);
    for _ in 0..5 {
        let before = socket.fields.snd_cwnd;
        round_trip_of(&mut socket, 4 * BASE_RTT_US, before.div_ceil(2));
        assert!(socket.fields.snd_cwnd >= before);
    }
}

#[test]
fn shrinking_stops_at_two() {
    let mut socket = socket("kk_vegas", BASE_RTT_US);
    socket.fields.snd_ssthresh = 5;
    growth(&mut socket);
    for _ in 0..50 {
        round_trip_of(&mut socket, 10 * BASE_RTT_US, 1);
        assert!(socket.fields.snd_cwnd >= 2);
    }
    assert!(socket.fields.snd_cwnd <= 3, "{}", socket.fields.snd_cwnd);
}
