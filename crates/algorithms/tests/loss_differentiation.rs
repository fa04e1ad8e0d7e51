//! The three rules that tell losses of a wireless hop from others, by their formulas.

mod common;

use common::avoiding_with;
use kirikae_algorithms::{Algorithm, CaEvent, CaState, Socket};

const CWND: u32 = 40;
const RTT_US: u32 = 100_000;

fn socket(rule: &str) -> Socket {
    let rule = Algorithm::of_the_thesis().find(|algorithm| algorithm.name() == rule).unwrap();
    let mut socket = avoiding_with(rule, RTT_US, CWND);
    socket.fields.packets_out = CWND;
    socket
}

/// An ACK that delivers so many segments so long after the one before; SACKed ones where there is a hole.
fn ack(socket: &mut Socket, after_us: u32, segments: u32, rtt_us: u32, hole: bool) {
    socket.fields.tcp_mstamp += u64::from(after_us);
    socket.fields.delivered += segments;
    socket.fields.sacked_out += if hole { segments } else { 0 };
    socket.pkts_acked(if hole { 0 } else { segments }, Some(rtt_us), segments);
}

/// Whether the window is kept when so many are held for lost.
fn keeps(socket: &mut Socket, lost: u32) -> bool {
    socket.fields.lost_out = lost;
    match socket.ssthresh() {
        CWND => true,
        half => {
            assert_eq!(half, CWND / 2);
            false
        }
    }
}

#[test]
fn bias_asks_whether_the_gap_is_just_as_long_as_what_is_missing() {
    // Two segments are 1 ms apart at least; (n + 1) ms and less than (n + 2) ms is a wireless loss of n.
    for (lost, gap_us, kept) in [
        (1, 1_999, false),
        (1, 2_000, true),
        (1, 2_999, true),
        (1, 3_000, false),
        (3, 2_000, false),
        (3, 4_000, true),
    ] {
        let mut socket = socket("bias");
        for after_us in [7_000, 2_000, 2_400, 3_000] {
            ack(&mut socket, after_us, 2, RTT_US, false);
        }
        ack(&mut socket, gap_us, 1, RTT_US, true);
        ack(&mut socket, 1_500, 1, RTT_US, true);
        assert_eq!(keeps(&mut socket, lost), kept, "{lost} lost, {gap_us} us");
    }
}

#[test]
fn bias_counts_what_a_delayed_ack_covers_beside_the_hole() {
    let mut socket = socket("bias");
    ack(&mut socket, 7_000, 2, RTT_US, false);
    ack(&mut socket, 2_000, 2, RTT_US, false);
    // What may have been held back is no measure, nor is what follows it.
    ack(&mut socket, 40_000, 1, RTT_US, false);
    ack(&mut socket, 100, 2, RTT_US, false);
    ack(&mut socket, 2_000, 2, RTT_US, false);
    // One segment before the hole had not been ACKed, one comes after it: 3 ms in all.
    ack(&mut socket, 3_500, 2, RTT_US, true);
    assert!(keeps(&mut socket, 1));
}

#[test]
fn spike_begins_above_a_half_and_ends_below_a_third() {
    let mut socket = socket("spike");
    for rtt_us in [100_000, 200_000, 100_000] {
        ack(&mut socket, 1_000, 2, rtt_us, false);
    }
    for (rtt_us, kept) in [
        (150_000, true), // half of the range
        (151_000, false),
        (134_000, false), // above a third of it
        (133_000, true),
        (149_000, true),
    ] {
        ack(&mut socket, 1_000, 2, rtt_us, false);
        assert_eq!(keeps(&mut socket, 1), kept, "{rtt_us} us");
    }
}

#[test]
fn an_ack_that_the_receiver_may_have_held_back_tells_no_round_trip() {
    let mut socket = socket("spike");
    ack(&mut socket, 1_000, 2, 100_000, false);
    ack(&mut socket, 1_000, 2, 200_000, false);
    ack(&mut socket, 1_000, 2, 100_000, false);
    ack(&mut socket, 1_000, 1, 200_000, false);
    assert!(keeps(&mut socket, 1));
    ack(&mut socket, 1_000, 1, 200_000, true); // SACKed at once
    assert!(!keeps(&mut socket, 1));
}

#[test]
fn zigzag_asks_for_less_of_two_and_three_losses_than_of_one_or_more() {
    // RTTs 8 ms above and below 100 ms by turns, and then one that is so far below.
    for (below_us, kept) in [
        (1_000, [false, false, true, false]),
        (6_000, [false, true, true, true]),
        (11_000, [true, true, true, true]),
    ] {
        for (lost, kept) in (1..).zip(kept) {
            let mut socket = socket("zigzag");
            for turn in 0..400 {
                let rtt_us = if turn % 2 == 0 { 92_000 } else { 108_000 };
                ack(&mut socket, 1_000, 2, rtt_us, false);
            }
            ack(&mut socket, 1_000, 2, 100_000 - below_us, false);
            assert_eq!(keeps(&mut socket, lost), kept, "{lost} lost, {below_us} us below");
        }
    }
}

#[test]
fn slow_start_goes_on_after_a_wireless_loss() {
    let mut socket = socket("spike");
    socket.fields.snd_ssthresh = 100;
    ack(&mut socket, 1_000, 2, RTT_US, false);
    socket.fields.lost_out = 1;
    socket.fields.snd_ssthresh = socket.ssthresh();
    assert_eq!(socket.fields.snd_ssthresh, CWND);
    socket.set_state(CaState::Recovery);
    assert_eq!(socket.fields.snd_ssthresh, CWND);
    socket.set_state(CaState::Open);
    assert_eq!(socket.fields.snd_ssthresh, 100);
}

#[test]
fn a_timeout_and_a_mark_are_congestion() {
    let mut socket = socket("spike");
    ack(&mut socket, 1_000, 2, RTT_US, false);
    socket.fields.prior_cwnd = CWND;
    socket.fields.lost_out = CWND;
    socket.fields.snd_ssthresh = socket.ssthresh();
    socket.cwnd_event(CaEvent::Loss);
    assert_eq!(socket.fields.snd_ssthresh, CWND / 2);
    assert!(!keeps(&mut socket, 0), "a mark: nothing is lost");
}
