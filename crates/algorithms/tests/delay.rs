//! Compound TCP, FAST TCP, RTT-fair CUBIC and HyStart++ against their papers' formulas.

use kirikae_algorithms::{Algorithm, CaEvent, CaState, Socket};

const MSS: u32 = 1448;

fn socket(name: &str, rtt_us: u32) -> Socket {
    let mut socket = Socket::new(Algorithm::named(name).unwrap(), MSS);
    socket.fields.rtt_min.s[0].v = rtt_us;
    socket.fields.tcp_mstamp = 1_000_000;
    socket.fields.set_is_cwnd_limited(1);
    socket
}

/// A socket in congestion avoidance with this window.
fn avoiding(name: &str, rtt_us: u32, cwnd: u32) -> Socket {
    let mut socket = socket(name, rtt_us);
    socket.fields.snd_cwnd = cwnd;
    socket.fields.snd_ssthresh = cwnd.min(cwnd / 2 + 1);
    socket
}

/// One round trip at the lowest RTT: every segment of the window is ACKed by itself.
fn round_trip(socket: &mut Socket) {
    round_trip_of(socket, socket.fields.rtt_min.s[0].v);
}

/// The same with another RTT than the lowest.
fn round_trip_of(socket: &mut Socket, rtt_us: u32) {
    let mut ack = socket.fields.snd_nxt;
    socket.fields.snd_nxt += socket.fields.snd_cwnd * MSS;
    socket.fields.srtt_us = rtt_us << 3;
    for _ in 0..socket.fields.snd_cwnd {
        ack += MSS;
        socket.fields.delivered += 1;
        socket.fields.tcp_mstamp += u64::from(rtt_us / socket.fields.snd_cwnd.max(1));
        socket.pkts_acked(1, Some(rtt_us), socket.fields.snd_cwnd);
        socket.cong_avoid(ack, 1);
    }
}

/// A new connection with HyStart++, and the window after each round trip of these RTTs.
fn hystart_rounds(name: &str, rtts_ms: &[u32], paced: bool) -> (Socket, Vec<u32>) {
    let mut socket = socket(name, 100_000);
    socket.switch_to(Algorithm::named(name).unwrap().with("hystart", 1).unwrap());
    socket.set_pacing(paced);
    let rounds = rtts_ms.iter().map(|ms| {
        round_trip_of(&mut socket, ms * 1000);
        socket.fields.snd_cwnd
    });
    let rounds = rounds.collect();
    (socket, rounds)
}

/// RFC 9406: RttThresh at 100 ms is 12.5 ms. Nothing happens below it; at it, from the 8th sample
/// on, growth is a quarter for 5 round trips (the first of them partial), and then slow start is
/// over.
#[test]
fn hystart_goes_on_at_a_quarter_for_five_round_trips() {
    for name in ["kk_cubic", "kk_cubic_fair"] {
        let (socket, rounds) = hystart_rounds(name, &[100, 112, 112], true);
        assert_eq!(rounds, [20, 40, 80], "{name}: no delay of 12.5 ms");
        assert_eq!(socket.fields.snd_ssthresh, 0x7fff_ffff);

        let (socket, rounds) = hystart_rounds(name, &[100, 113, 113, 113, 113, 113, 113], true);
        // 7 ACKs of 20 at full growth, 13 at a quarter; then 4 round trips by a quarter.
        assert_eq!(rounds[..2], [20, 30]);
        for (before, after) in rounds[1..].iter().zip(&rounds[2..6]) {
            assert!((before * 5 / 4..=before * 5 / 4 + 1).contains(after), "{name}: {rounds:?}");
        }
        assert_eq!(socket.fields.snd_ssthresh, rounds[5], "{name}: {rounds:?}");
        assert!(rounds[6] <= rounds[5] + 1, "{name}: {rounds:?}");
    }
}

/// "currentRoundMinRTT < cssBaselineMinRtt": the delay was none of ours, slow start resumes.
#[test]
fn hystart_resumes_slow_start_when_the_delay_was_jitter() {
    let (socket, rounds) = hystart_rounds("kk_cubic", &[100, 120, 100, 100], true);
    assert_eq!(rounds[..2], [20, 30]);
    // 7 ACKs of 30 at a quarter, then full growth again.
    assert!((53..=55).contains(&rounds[2]), "{rounds:?}");
    assert_eq!(rounds[3], 2 * rounds[2], "{rounds:?}");
    assert_eq!(socket.fields.snd_ssthresh, 0x7fff_ffff);
}

/// RttThresh is 4 ms at least and 16 ms at most.
#[test]
fn hystart_thresholds_are_bounded() {
    for (before_ms, below_ms, at_ms) in [(8, 11, 12), (400, 415, 416)] {
        let (_, rounds) = hystart_rounds("kk_cubic", &[before_ms, below_ms], true);
        assert_eq!(rounds, [20, 40], "{below_ms} ms after {before_ms} ms");
        let (_, rounds) = hystart_rounds("kk_cubic", &[before_ms, at_ms], true);
        assert_eq!(rounds, [20, 30], "{at_ms} ms after {before_ms} ms");
    }
}

/// "L = infinity if paced, L = 8 if non-paced"
#[test]
fn hystart_grows_by_eight_for_an_ack_that_is_not_paced() {
    for (paced, expected) in [(false, 18), (true, 30)] {
        let (mut socket, _) = hystart_rounds("kk_cubic", &[], paced);
        socket.cong_avoid(socket.fields.snd_nxt, 20);
        assert_eq!(socket.fields.snd_cwnd, expected);
    }
}

/// It is for the slow start whose end is not known yet, and begins anew after idle time.
#[test]
fn hystart_is_for_the_first_slow_start() {
    let (mut socket, _) = hystart_rounds("kk_cubic", &[100], true);
    socket.fields.snd_ssthresh = 1000;
    round_trip_of(&mut socket, 130_000);
    assert_eq!(socket.fields.snd_cwnd, 40, "ssthresh is known");

    let (mut socket, _) = hystart_rounds("kk_cubic", &[100, 130], true);
    socket.cwnd_event(CaEvent::TxStart);
    let before = socket.fields.snd_cwnd;
    round_trip_of(&mut socket, 150_000);
    assert_eq!(socket.fields.snd_cwnd, 2 * before, "nothing to compare with");
}

#[test]
fn hystart_is_for_transfers_that_go_on_as_preset() {
    let window_after = |sent: u64| {
        let mut socket = socket("kk_cubic", 100_000);
        socket.fields.bytes_sent = sent;
        for rtt_us in [100_000, 200_000, 400_000] {
            round_trip_of(&mut socket, rtt_us);
        }
        socket.fields.snd_cwnd
    };
    assert_eq!(window_after(64 << 10), 80, "a burst");
    assert!(window_after(1 << 20) < 80, "it goes on");
}

/// "K = K_cubic * cbrt(rtt_ref / RTT)": half of it at 8 times the reference, twice at an eighth.
/// W_max + 10 is reached cbrt(10 / C) after K, where the window grows by 10 segments a second.
#[test]
fn cubic_fair_returns_sooner_the_longer_the_round_trip() {
    let k_s = (1000.0 * 0.3 / 0.4_f64).cbrt();
    for (rtt_us, rtt_ref_us, expected_k_s) in
        [(200_000, 25_000, k_s / 2.0), (200_000, 200_000, k_s), (125_000, 1_000_000, k_s * 2.0)]
    {
        let fair = Algorithm::named("kk_cubic_fair").unwrap();
        let mut socket = avoiding("kk_cubic_fair", rtt_us, 1000);
        socket.switch_to(fair.with("rtt_ref_us", rtt_ref_us).unwrap());
        socket.fields.snd_ssthresh = socket.ssthresh();
        socket.fields.snd_cwnd = 700;
        let begin = socket.fields.tcp_mstamp;
        while socket.fields.snd_cwnd < 1010 {
            round_trip(&mut socket);
            assert!(socket.fields.tcp_mstamp - begin < 60_000_000, "never returned");
        }
        let found_k_s = (socket.fields.tcp_mstamp - begin) as f64 / 1e6 - (10.0 / 0.4_f64).cbrt();
        assert!((found_k_s / expected_k_s - 1.0).abs() < 0.05, "{found_k_s}, not {expected_k_s}");
    }
}

/// Without an RTT there is nothing to scale by; with the reference RTT it is CUBIC.
#[test]
fn cubic_fair_is_cubic_at_the_reference() {
    for rtt_min_us in [25_000, u32::MAX] {
        let run = |name| {
            let mut socket = avoiding(name, rtt_min_us, 300);
            socket.fields.snd_ssthresh = socket.ssthresh();
            socket.fields.snd_cwnd = 210;
            (0..200)
                .map(|_| {
                    round_trip_of(&mut socket, 25_000);
                    socket.fields.snd_cwnd
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(run("kk_cubic"), run("kk_cubic_fair"));
    }
}

/// "w <- min {2w, (1 - gamma) w + gamma (baseRTT / RTT w + alpha)}", gamma = 1/2, alpha = 20.
#[test]
fn fast_goes_half_the_way_to_alpha_segments_in_the_queue() {
    for (cwnd, rtt_us, expected) in [
        (100, 100_000, 110), // no queue: gamma alpha more
        (100, 125_000, 100), // 100 (1 - 100/125) = 20 segments are in the queue: stay
        (200, 125_000, 190), // 40 are: 200/2 + (160 + 20)/2
        (4, 100_000, 8),     // "2w"
        (2, 100_000_000, 4), // all of them are, but alpha is to be
    ] {
        let mut socket = avoiding("kk_fast", 100_000, cwnd);
        socket.fields.snd_ssthresh = 2;
        round_trip_of(&mut socket, rtt_us);
        let changed = socket.fields.snd_cwnd;
        assert_eq!(changed, expected, "{cwnd} segments at {rtt_us} us");
        assert_eq!(socket.ssthresh(), changed / 2);
    }
}

/// "eta = min {3/w, 1/4}": after a round trip of w ACKs the average has gone 95 % of the way, and
/// with it the window; a single ACK takes it 3 % of the way.
#[test]
fn fast_averages_the_rtt_over_a_third_of_the_window() {
    let mut socket = avoiding("kk_fast", 100_000, 100);
    for _ in 0..6 {
        round_trip_of(&mut socket, 100_000);
    }
    assert_eq!(socket.fields.snd_cwnd, 160);
    socket.pkts_acked(1, Some(200_000), 160);
    socket.fields.snd_nxt += MSS;
    // One of 160 ACKs, 3/160 of the way: RTT 101.9 ms, 160/2 + (160 * 0.9816 + 20)/2 = 168.5
    socket.cong_avoid(socket.fields.snd_nxt, 1);
    assert_eq!(socket.fields.snd_cwnd, 169);
}

#[test]
fn fast_leaves_slow_start_when_the_queue_grows() {
    let mut socket = socket("kk_fast", 100_000);
    round_trip(&mut socket);
    round_trip(&mut socket);
    assert!((39..=40).contains(&socket.fields.snd_cwnd), "{}", socket.fields.snd_cwnd);
    socket.fields.snd_cwnd = 200;
    round_trip_of(&mut socket, 200_000);
    assert_eq!(socket.fields.snd_cwnd, 400, "the average was 100 ms when the round trip began");
    round_trip_of(&mut socket, 200_000);
    // Most of the way to 200 ms: 400/2 + (400 * 0.5 + 20)/2 and a little more
    assert!((310..=320).contains(&socket.fields.snd_cwnd), "{}", socket.fields.snd_cwnd);
    assert!(socket.fields.snd_ssthresh <= socket.fields.snd_cwnd);
}

/// "dwnd + (alpha win^k - 1)+" and "cwnd + 1/win": with alpha = 1/8 and k = 3/4 one segment of 16
/// and 8 of 256 in a round trip.
#[test]
fn compound_grows_by_alpha_win_to_the_k() {
    for (cwnd, expected) in [(8, 1.0), (16, 1.0), (256, 8.0), (1296, 27.0)] {
        let mut socket = avoiding("kk_compound", 100_000, cwnd);
        round_trip(&mut socket);
        round_trip(&mut socket);
        round_trip(&mut socket);
        let grown = f64::from(socket.fields.snd_cwnd - cwnd) / 3.0;
        assert!((grown / expected - 1.0).abs() < 0.1, "{grown} a round trip from {cwnd}");
    }
}

/// "(dwnd - eta Diff)+" once Diff is at least gamma: Reno's part is what stays.
#[test]
fn compound_yields_when_the_queue_grows() {
    let mut socket = avoiding("kk_compound", 100_000, 256);
    for _ in 0..10 {
        round_trip(&mut socket);
    }
    // dwnd has about 75 of these, 10 are Reno's.
    let before = socket.fields.snd_cwnd;
    assert!((335..=345).contains(&before), "{before}");
    // 9 % of the window in the queue is at least gamma, 30.
    round_trip_of(&mut socket, 110_000);
    let once = socket.fields.snd_cwnd;
    assert!((before - 31..=before - 28).contains(&once), "{before} to {once}");
    for _ in 0..5 {
        round_trip_of(&mut socket, 120_000);
    }
    let reno = 256 + 10 + 6;
    assert!((reno - 2..=reno + 2).contains(&socket.fields.snd_cwnd), "{}", socket.fields.snd_cwnd);
    assert_eq!(socket.ssthresh(), socket.fields.snd_cwnd / 2);
}

/// "gamma = (1 - lambda) gamma + lambda 3/4 Diff_reno": a queue that overflows at 20 segments has
/// no room for 30: 0.2 * 30 + 0.8 * 15 = 18.
#[test]
fn compound_learns_gamma_from_the_queue_before_a_loss() {
    let mut socket = avoiding("kk_compound", 100_000, 200);
    round_trip_of(&mut socket, 111_112);
    let before = socket.fields.snd_cwnd;
    assert!(before > 204, "20 segments are less than 30: {before}");
    socket.fields.snd_ssthresh = socket.ssthresh();
    socket.fields.snd_cwnd = 200;
    round_trip_of(&mut socket, 111_112);
    let cwnd = socket.fields.snd_cwnd;
    assert!(cwnd <= 200, "20 segments are more than 18: {cwnd}");

    socket.set_state(CaState::Loss);
    socket.set_state(CaState::Open);
    socket.fields.snd_cwnd = 200;
    round_trip_of(&mut socket, 111_112);
    assert!(socket.fields.snd_cwnd > 204, "after a timeout gamma is 30 again");
}

/// What was counted while growth was slower is worth one segment, beside what the ACK is worth.
#[test]
fn a_stale_count_is_worth_one_segment() {
    for algorithm in Algorithm::all() {
        let mut socket = avoiding(algorithm.name(), 100_000, 20);
        socket.fields.snd_cwnd_cnt = 100_000;
        socket.cong_avoid(socket.fields.snd_nxt, 1);
        assert!(socket.fields.snd_cwnd <= 22, "{algorithm:?}: {}", socket.fields.snd_cwnd);
    }
}
