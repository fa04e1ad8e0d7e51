//! The rule of the retransmission timer, `bpf/switcher/core/timeouts.h`, as a connection meets it.

use kirikae_algorithms::{Algorithm, Socket, Switcher, back_off_is_bounded};
use kirikae_interface::{SCOPE_KERNEL_TIMEOUTS, policy, scope};

/// A scope that says nothing of timeouts.
const ADAPTED: u32 = 0;
const KERNEL_MIN_US: u32 = 200_000;
const KERNEL_MAX_MS: u32 = 120_000;

/// A connection of RTT 40 ms that has been met, with a timer of these limits.
fn met(flags: u32, rto_min_us: u32, rto_max_ms: u32) -> (Switcher, Socket) {
    let scope = scope { flags, ..scope::usual() };
    let mut switcher = Switcher::measuring(policy::one(scope));
    let mut socket = Socket::new(Algorithm::stock("cubic").unwrap(), 1448);
    socket.fields.rto_min_us = rto_min_us;
    socket.fields.rto_max_ms = rto_max_ms;
    socket.fields.srtt_us = 40_000 << 3;
    socket.fields.rttvar_us = 50_000;
    switcher.met(&mut socket);
    (switcher, socket)
}

fn rto_min_after_rounds(switcher: &mut Switcher, socket: &mut Socket, rounds: u32) -> u32 {
    for _ in 0..rounds {
        switcher.rtt_sample(socket, 40_000);
    }
    socket.fields.rto_min_us
}

#[test]
fn the_allowance_is_lowered_but_never_raised() {
    for (before, after) in
        [(KERNEL_MIN_US, 50_000), (51_000, 50_000), (50_000, 50_000), (5_000, 5_000)]
    {
        let (_, socket) = met(ADAPTED, before, KERNEL_MAX_MS);
        assert_eq!(socket.fields.rto_min_us, after, "{before}");
    }
}

/// TCP_BPF_RTO_MIN takes no more than 200 ms: what could not be restored is not touched.
#[test]
fn an_allowance_above_the_kernels_is_left_alone() {
    let (mut switcher, mut socket) = met(ADAPTED, 300_000, KERNEL_MAX_MS);
    socket.fields.dsack_dups = 1;
    assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 100), 300_000);
}

#[test]
fn segments_sent_twice_double_the_allowance_until_it_is_the_kernels() {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    for (dups, expected) in [(0, 50_000), (1, 100_000), (1, 100_000), (4, 200_000), (5, 200_000)] {
        socket.fields.dsack_dups = dups;
        assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 1), expected, "{dups}");
    }
    assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 63), 200_000);
    assert_eq!(
        rto_min_after_rounds(&mut switcher, &mut socket, 1),
        100_000,
        "64 quiet round trips"
    );
    assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 64), 50_000);
    assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 200), 50_000);
}

/// A socket that is connected anew and still has ours was not given it by anybody else.
#[test]
fn what_was_set_is_not_taken_for_the_kernels() {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    switcher.met(&mut socket);
    socket.fields.dsack_dups = 1;
    assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 1), 100_000);
    socket.fields.dsack_dups = 2;
    assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 1), KERNEL_MIN_US);
}

/// The connection's clock is at `now_ms`, and something was first sent again at `since_ms`.
fn retransmitting(socket: &mut Socket, since_ms: u32, now_ms: u32) {
    socket.fields.retrans_stamp = since_ms;
    socket.fields.tcp_mstamp = u64::from(now_ms) * 1000;
}

#[test]
fn seven_timeouts_in_a_row_are_bounded_and_the_eighth_is_not() {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    for earlier in 0..10 {
        switcher.timed_out(&mut socket, earlier);
        let expected = if earlier < 7 { 1_000 } else { KERNEL_MAX_MS };
        assert_eq!(socket.fields.rto_max_ms, expected, "after {earlier}");
    }
}

/// tcp_retries2 = 15 within the bound: 14.4 s, of which two are kept to spare.
#[test]
fn the_bound_ends_long_before_the_kernel_would_give_up() {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    // The clock of the timestamps has 32 bits.
    for since_ms in [700, u32::MAX - 700] {
        for (after_ms, expected) in [(100, 1_000), (12_400, 1_000), (12_401, KERNEL_MAX_MS)] {
            retransmitting(&mut socket, since_ms, since_ms.wrapping_add(after_ms));
            switcher.timed_out(&mut socket, 0);
            assert_eq!(socket.fields.rto_max_ms, expected, "after {after_ms} ms");
        }
    }
}

/// The kernel reckons by the bound when to give up: so many timeouts, from 200 ms on doubled up to it.
#[test]
fn no_connection_is_given_up_for_the_bound() {
    let (_, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    for retries in 0..=15 {
        let waits = (0..=retries).map(|timeout| (200 << timeout.min(3)).min(1_000));
        let given_up_ms: u32 = waits.sum();
        for after_ms in 0..15_000 {
            retransmitting(&mut socket, 1, 1 + after_ms);
            // The next one is a second away at most, and as much late at most.
            let has_time = after_ms + 2_000 <= given_up_ms;
            assert_eq!(back_off_is_bounded(&socket, 0, retries), has_time, "{retries}, {after_ms}");
        }
    }
}

/// The kernel gives up what nobody holds open any more at the first timeout of the longest.
#[test]
fn what_its_program_has_closed_is_not_bounded() {
    const ESTABLISHED: u32 = 1;
    const FIN_WAIT1: u32 = 4;
    const CLOSE_WAIT: u32 = 8;
    const LAST_ACK: u32 = 9;
    for closing in [FIN_WAIT1, LAST_ACK] {
        let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
        switcher.state_changes(&mut socket, CLOSE_WAIT);
        switcher.timed_out(&mut socket, 0);
        assert_eq!(socket.fields.rto_max_ms, 1_000, "its peer has closed, the program has not");
        switcher.state_changes(&mut socket, closing);
        assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
        switcher.timed_out(&mut socket, 0);
        assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
        // Connected anew.
        switcher.state_changes(&mut socket, ESTABLISHED);
        switcher.met(&mut socket);
        switcher.timed_out(&mut socket, 0);
        assert_eq!(socket.fields.rto_max_ms, 1_000);
    }
}

#[test]
fn an_answer_ends_the_bound() {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    switcher.timed_out(&mut socket, 0);
    switcher.rtt_sample(&mut socket, 40_000);
    assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
}

/// Where the allowance is somebody else's, nothing of it is remembered; the bound is ours all the same.
#[test]
fn the_bound_ends_before_the_timer_is_begun_anew() {
    let (mut switcher, mut socket) = met(ADAPTED, 30_000, KERNEL_MAX_MS);
    switcher.timed_out(&mut socket, 0);
    assert_eq!(socket.fields.rto_max_ms, 1_000);
    switcher.met(&mut socket);
    assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
}

/// Where the timeout before back-off is longer than half the bound, little would be left of it.
#[test]
fn a_long_round_trip_backs_off_as_ever() {
    for (rttvar_us, expected) in [(460_000, 1_000), (460_001, KERNEL_MAX_MS)] {
        let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
        socket.fields.rttvar_us = rttvar_us;
        switcher.timed_out(&mut socket, 0);
        assert_eq!(socket.fields.rto_max_ms, expected, "{rttvar_us}");
    }
}

#[test]
fn the_kernels_timer_can_be_kept() {
    let (mut switcher, mut socket) = met(SCOPE_KERNEL_TIMEOUTS, KERNEL_MIN_US, KERNEL_MAX_MS);
    switcher.timed_out(&mut socket, 0);
    switcher.rtt_sample(&mut socket, 40_000);
    assert_eq!(socket.fields.rto_min_us, KERNEL_MIN_US);
    assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
}
