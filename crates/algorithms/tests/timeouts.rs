//! The rule of the retransmission timer, `bpf/switcher/core/timeouts.h`, as a connection meets it.

use kirikae_algorithms::{Algorithm, Socket, Switcher, given_up_after_ms, is_given_up_late};
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

/// Of what was sent again in an outage, the ACKs may have been lost.
#[test]
fn what_is_reported_twice_after_an_outage_does_not_raise_it() {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    for earlier in 0..2 {
        switcher.timed_out(&mut socket, earlier);
    }
    for dsack_dups in [1, 2] {
        socket.fields.dsack_dups = dsack_dups;
        assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 1), 50_000);
    }
    socket.fields.dsack_dups = 3;
    assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 1), 100_000);
    // A single timeout may have been too early.
    switcher.timed_out(&mut socket, 0);
    socket.fields.dsack_dups = 4;
    assert_eq!(rto_min_after_rounds(&mut switcher, &mut socket, 1), KERNEL_MIN_US);
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
fn thirty_timeouts_in_a_row_are_bounded_and_no_more() {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    for earlier in 0..40 {
        switcher.timed_out(&mut socket, earlier);
        let is_bounded = earlier < 30;
        let expected = if is_bounded { 1_000 } else { KERNEL_MAX_MS };
        assert_eq!(socket.fields.rto_max_ms, expected, "after {earlier}");
        // tcp_retries2 = 15 with the kernel's own bound: as long as it would have gone on itself.
        let expected = if is_bounded { 924_600 } else { 0 };
        assert_eq!(socket.fields.user_timeout_ms, expected, "after {earlier}");
    }
}

/// Kernels before Linux 6.15 know no longest timeout, and say 0.
#[test]
fn what_cannot_be_bounded_is_given_up_no_sooner() {
    for rto_max_ms in [0, 1_000] {
        let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, rto_max_ms);
        for earlier in 0..40 {
            switcher.timed_out(&mut socket, earlier);
            assert_eq!(socket.fields.rto_max_ms, rto_max_ms, "after {earlier}");
            assert_eq!(socket.fields.user_timeout_ms, 0, "{rto_max_ms} ms, after {earlier}");
        }
    }
}

/// Its program gives up itself, at a time that it has set.
#[test]
fn a_time_of_the_programs_own_stays() {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    socket.fields.user_timeout_ms = 20_000;
    switcher.timed_out(&mut socket, 0);
    assert_eq!(socket.fields.rto_max_ms, 1_000);
    switcher.timed_out(&mut socket, 30);
    assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
    assert_eq!(socket.fields.user_timeout_ms, 20_000);
}

/// The timeout before back-off is that of the socket; the sample is of the round trip that the kernel tells of.
fn sampled(switcher: &mut Switcher, socket: &mut Socket, rto_ms: u32, sample_ms: u32) {
    socket.fields.srtt_us = (rto_ms * 1_000) << 3;
    socket.fields.rttvar_us = 0;
    switcher.rtt_sample(socket, sample_ms * 1_000);
}

/// Timeouts have come in a row, and the path is in doubt.
fn in_doubt() -> (Switcher, Socket) {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    for earlier in 0..2 {
        switcher.timed_out(&mut socket, earlier);
    }
    (switcher, socket)
}

#[test]
fn while_the_path_is_in_doubt_a_second_is_the_longest() {
    let (mut switcher, mut socket) = in_doubt();
    // The first is as long as the outage; later ones wait in a queue.
    for (round, sample_ms) in [3_000, 60, 400, 900, 900, 900, 900].into_iter().enumerate() {
        sampled(&mut switcher, &mut socket, 9_000, sample_ms);
        assert_eq!(socket.fields.rto_max_ms, 1_000, "round {round}");
        // A timeout is bounded as well, however long it would be.
        switcher.timed_out(&mut socket, 0);
        assert_eq!(socket.fields.rto_max_ms, 1_000, "round {round}");
    }
    sampled(&mut switcher, &mut socket, 9_000, 900);
    sampled(&mut switcher, &mut socket, 9_000, 900);
    assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS, "the path is known");
    switcher.timed_out(&mut socket, 0);
    assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
}

/// Round trips of more than half a second.
#[test]
fn a_second_long_sample_is_believed() {
    let (mut switcher, mut socket) = in_doubt();
    sampled(&mut switcher, &mut socket, 9_000, 3_000);
    assert_eq!(socket.fields.rto_max_ms, 1_000);
    sampled(&mut switcher, &mut socket, 9_000, 501);
    assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
    for earlier in 0..3 {
        switcher.timed_out(&mut socket, earlier);
        assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS, "after {earlier}");
    }
    sampled(&mut switcher, &mut socket, 9_000, 500);
    for earlier in 0..2 {
        switcher.timed_out(&mut socket, earlier);
    }
    assert_eq!(socket.fields.rto_max_ms, 1_000, "short ones again");
}

/// A queue makes the first timeout long.
#[test]
fn timeouts_in_a_row_bound_what_is_long_by_a_queue() {
    let (mut switcher, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    sampled(&mut switcher, &mut socket, 1_900, 60);
    switcher.timed_out(&mut socket, 0);
    assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
    switcher.timed_out(&mut socket, 1);
    assert_eq!(socket.fields.rto_max_ms, 1_000);
}

/// Its program has chosen an algorithm itself meanwhile.
#[test]
fn the_bound_ends_with_what_is_left_alone() {
    let (_, mut socket) = met(ADAPTED, KERNEL_MIN_US, KERNEL_MAX_MS);
    let (table, candidates) = (kirikae_table::shipped().kernel_table(), Algorithm::all());
    let candidates: Vec<Algorithm> = candidates.collect();
    let policy = policy::one(scope::usual());
    let mut switcher = Switcher::new(policy, vec![table.into()], &candidates).unwrap();
    switcher.met(&mut socket);
    socket.switch_to(Algorithm::stock("reno").unwrap());
    for earlier in 0..2 {
        switcher.timed_out(&mut socket, earlier);
    }
    assert_eq!(socket.fields.rto_max_ms, 1_000);
    sampled(&mut switcher, &mut socket, 9_000, 60);
    assert_eq!(socket.fields.rto_max_ms, KERNEL_MAX_MS);
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
            assert_eq!(is_given_up_late(&socket, retries), has_time, "{retries}, {after_ms}");
        }
    }
}

/// As the kernel: from 200 ms on doubled up to the longest.
#[test]
fn it_is_known_when_the_kernel_gives_up() {
    for longest_ms in [1_000, 10_000, 60_000, 120_000] {
        for retries in 0..=255 {
            let waits = (0..=retries).map(|timeout| (200 << timeout.min(12)).min(longest_ms));
            let given_up_ms: u32 = waits.sum();
            assert_eq!(
                given_up_after_ms(retries, longest_ms),
                given_up_ms,
                "{longest_ms}, {retries}"
            );
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
