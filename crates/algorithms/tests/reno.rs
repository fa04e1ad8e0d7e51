//! Reno's formulas: RFC 5681 and RFC 3465.

mod common;

use common::{avoiding, growth, loss, round_trip_of, socket};

/// However many segments an ACK covers.
#[test]
fn one_segment_per_round_trip() {
    for per_ack in [1, 2, 10] {
        let mut socket = avoiding("kk_reno", 100_000, 200);
        for grown in 1..=5 {
            round_trip_of(&mut socket, 100_000, per_ack);
            // What is left of the window where it is no multiple of per_ack is ACKed later.
            let at = socket.fields.snd_cwnd;
            assert!((200 + grown - 1..=200 + grown).contains(&at), "{at} after {grown}");
        }
    }
    assert_eq!(growth(&mut avoiding("kk_reno", 100_000, 50)), 1);
}

#[test]
fn half_after_a_loss_and_never_below_two() {
    let mut socket = avoiding("kk_reno", 100_000, 51);
    loss(&mut socket);
    assert_eq!(socket.fields.snd_cwnd, 25);
    socket.fields.snd_cwnd = 1;
    assert_eq!(socket.ssthresh(), 2);
}

/// What is left of an ACK at ssthresh counts towards congestion avoidance.
#[test]
fn slow_start_hands_over_what_is_left() {
    let mut socket = socket("kk_reno", 100_000);
    socket.fields.snd_ssthresh = 12;
    socket.cong_avoid(0, 2 + 12);
    assert_eq!(socket.fields.snd_cwnd, 13);
}

/// What was counted towards slower growth is one segment's worth.
#[test]
fn counted_for_a_larger_window_is_no_burst() {
    let mut socket = avoiding("kk_reno", 100_000, 10);
    socket.fields.snd_cwnd_cnt = 99;
    socket.cong_avoid(0, 1);
    assert_eq!(socket.fields.snd_cwnd, 11);
}

#[test]
fn the_clamp_holds() {
    let mut socket = avoiding("kk_reno", 100_000, 10);
    socket.fields.snd_cwnd_clamp = 11;
    socket.cong_avoid(0, 100);
    assert_eq!(socket.fields.snd_cwnd, 11);
}
