//! The algorithms' C against their papers' formulas, and what happens on a switch.

mod common;

use common::{
    CAPACITY, MSS, ack, avoiding, burst, idle, is_always_paced, loss, round_trip, socket,
    socket_of, window_algorithms,
};
use kirikae_algorithms::{Algorithm, CaState, Socket};

/// (hybla's is faster, and bic's growth with no W_max is as fast as slow start; see its own tests.)
#[test]
fn slow_start_doubles_and_stops_at_ssthresh() {
    for name in
        ["kk_cubic", "kk_highspeed", "kk_htcp", "kk_reno", "kk_scalable", "kk_vegas", "kk_westwood"]
    {
        let mut socket = socket(name, 100_000);
        round_trip(&mut socket);
        assert_eq!(socket.fields.snd_cwnd, 20, "{name}");
        socket.fields.snd_ssthresh = 30;
        for _ in 0..15 {
            socket.cong_avoid(0, 1);
        }
        assert!((30..=31).contains(&socket.fields.snd_cwnd), "{name}");
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for algorithm in window_algorithms() {
        for ssthresh in [20, 1000] {
            let mut socket = avoiding(algorithm.name(), 200_000, 40);
            socket.fields.snd_ssthresh = ssthresh;
            socket.fields.set_is_cwnd_limited(0);
            for _ in 0..3 {
                round_trip(&mut socket);
            }
            assert_eq!(socket.fields.snd_cwnd, 40, "{algorithm:?} with ssthresh {ssthresh}");
        }
    }
}

/// rho = 1 at RTT0 = 25 ms: Reno. rho = 4 at 100 ms: 2^4 - 1 per ACK, then rho^2 a round trip.
#[test]
fn hybla_grows_by_rho() {
    let mut short = avoiding("kk_hybla", 25_000, 50);
    round_trip(&mut short);
    assert!((50..=51).contains(&short.fields.snd_cwnd));
    round_trip(&mut short);
    assert!((51..=52).contains(&short.fields.snd_cwnd));

    let mut long = avoiding("kk_hybla", 100_000, 50);
    round_trip(&mut long);
    assert!((63..=65).contains(&long.fields.snd_cwnd), "{}", long.fields.snd_cwnd);

    let plain = Algorithm::named("kk_hybla").unwrap().with("idle_keep", 0).unwrap();
    let mut start = socket_of(plain, 100_000);
    start.cong_avoid(0, 1);
    assert_eq!(start.fields.snd_cwnd, 25);
    assert_eq!(start.ssthresh(), 12);
}

/// Slow start of a connection whose path told its rate with the ACKs of the first window: a segment a
/// millisecond, of which 100 are carried in a round trip. What is paced out at 5/4 of it is two windows of 5/8.
#[test]
fn hybla_goes_by_the_rate_that_the_first_window_has_shown() {
    let mut start = socket("kk_hybla", 100_000);
    assert!(start.pacing().is_some(), "it is paced");
    for acked in 1..=8 {
        ack(&mut start, 1, 100_000);
        assert_eq!(start.fields.snd_cwnd, 10 + acked, "Reno's while nothing is known");
        start.fields.tcp_mstamp += 1_000;
    }
    let mut before = 18;
    for _ in 0..6 {
        ack(&mut start, 1, 100_000);
        start.fields.tcp_mstamp += 1_000;
        let cwnd = start.fields.snd_cwnd;
        assert!(cwnd > before + 10 || cwnd >= 60, "{before} to {cwnd}");
        before = cwnd;
    }
    assert!((60..=75).contains(&before), "{before}, of 62 and what Reno's adds to it");
}

#[test]
fn scalable_adds_a_hundredth_per_ack_and_gives_up_an_eighth() {
    let mut socket = avoiding("kk_scalable", 100_000, 400);
    round_trip(&mut socket);
    assert_eq!(socket.fields.snd_cwnd, 404);
    assert_eq!(socket.ssthresh(), 404 - 404 / 8);
}

/// 100 segments a round trip of 100 ms are what the path carries, whatever the window is.
#[test]
fn westwood_falls_back_to_what_the_path_carried() {
    let mut socket = avoiding("kk_westwood", 100_000, 100);
    for _ in 0..40 {
        round_trip(&mut socket);
        socket.fields.snd_cwnd = 100;
    }
    socket.fields.snd_cwnd = 180;
    let ssthresh = socket.ssthresh();
    assert!((95..=105).contains(&ssthresh), "{ssthresh}");
}

/// 46 segments a burst and nothing between: the path carried 46 in a round trip.
#[test]
fn westwood_leaves_idle_time_out() {
    let mut socket = avoiding("kk_westwood", 100_000, 60);
    for _ in 0..40 {
        burst(&mut socket, 10);
    }
    idle(&mut socket, 2_000_000);
    let ssthresh = socket.ssthresh();
    assert!((42..=46).contains(&ssthresh), "{ssthresh}");
}

#[test]
fn westwood_without_a_sample_halves() {
    assert_eq!(avoiding("kk_westwood", 100_000, 100).ssthresh(), 50);
}

/// RFC 9438: K = cbrt(W_max (1 - beta) / C); W_max is reached again after K.
#[test]
fn cubic_returns_to_w_max_after_k() {
    let w_max = 1000;
    let mut socket = avoiding("kk_cubic", 200_000, w_max);
    socket.fields.snd_ssthresh = socket.ssthresh();
    assert_eq!(socket.fields.snd_ssthresh, 700);
    socket.fields.snd_cwnd = 700;
    let k_s = (f64::from(w_max) * 0.3 / 0.4).cbrt();
    let begin = socket.fields.tcp_mstamp;
    let mut before = 0;
    while socket.fields.snd_cwnd < w_max {
        before = socket.fields.tcp_mstamp;
        round_trip(&mut socket);
        assert!(socket.fields.tcp_mstamp - begin < 60_000_000, "never returned");
    }
    let reached_s = (before - begin) as f64 / 1e6;
    // The window is set for the end of the coming round trip and rounded to segments.
    assert!((reached_s - k_s).abs() < 0.15 * k_s, "reached after {reached_s} s, K = {k_s} s");
}

/// Section 4.8 of RFC 9438: no plateau at the window before a timeout.
#[test]
fn cubic_starts_anew_after_a_timeout() {
    let mut socket = avoiding("kk_cubic", 200_000, 1000);
    socket.fields.snd_ssthresh = socket.ssthresh();
    socket.set_state(CaState::Loss);
    socket.fields.snd_cwnd = 701;
    socket.set_state(CaState::Open);
    // K = 0: C t^3 is 3 segments after 2 s and 86 after 6 s; with W_max = 1000 it would be past it.
    for _ in 0..30 {
        round_trip(&mut socket);
    }
    assert!((775..=800).contains(&socket.fields.snd_cwnd), "{}", socket.fields.snd_cwnd);
}

/// "W_est = W_est + alpha_cubic * (segments_acked / cwnd)", alpha = 0.529, where each ACK brings less
/// than a thousandth. K is 9 s; W_cubic alone would have come up by 89 after a second.
#[test]
fn cubic_is_as_fast_as_reno_at_a_short_round_trip() {
    let mut socket = avoiding("kk_cubic", 2_000, 1000);
    socket.fields.snd_ssthresh = socket.ssthresh();
    socket.fields.snd_cwnd = 700;
    for _ in 0..500 {
        round_trip(&mut socket);
    }
    let grown = socket.fields.snd_cwnd - 700;
    assert!((255..=275).contains(&grown), "{grown}");
}

/// RFC 9438, section 5.8: a minute in which the application wrote little is none of the epoch.
#[test]
fn cubic_does_not_count_time_that_the_application_was_the_limit() {
    let windows = |minute: bool| {
        let mut socket = avoiding("kk_cubic", 100_000, 1000);
        socket.fields.snd_ssthresh = socket.ssthresh();
        socket.fields.snd_cwnd = 700;
        round_trip(&mut socket);
        if minute {
            socket.fields.set_is_cwnd_limited(0);
            for _ in 0..600 {
                socket.fields.tcp_mstamp += 100_000;
                ack(&mut socket, 2, 100_000);
            }
            socket.fields.set_is_cwnd_limited(1);
        }
        (0..10)
            .map(|_| {
                round_trip(&mut socket);
                socket.fields.snd_cwnd
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(windows(true), windows(false));
}

/// Without a sample nobody knows how long the round trip is: as at RTT0.
#[test]
fn hybla_without_an_rtt_is_reno() {
    let mut socket = Socket::new(Algorithm::named("kk_hybla").unwrap(), MSS);
    socket.fields.set_is_cwnd_limited(1);
    socket.fields.max_packets_out = 10;
    socket.cong_avoid(0, 1);
    assert_eq!(socket.fields.snd_cwnd, 11);
}

#[test]
fn cubic_gives_up_more_when_it_did_not_get_back() {
    let mut socket = avoiding("kk_cubic", 100_000, 100);
    assert_eq!(socket.ssthresh(), 70);
    socket.fields.snd_cwnd = 80;
    assert_eq!(socket.ssthresh(), 56);
}

/// RFC 7661: what was in flight and is no more than was delivered in a round trip before is
/// validated, unless it is a burst after idle time, or something waits to be sent.
#[test]
fn a_loss_while_the_application_is_the_limit_leaves_what_is_in_flight() {
    let stream = |name: &str| {
        let mut socket = avoiding(name, 100_000, 40);
        round_trip(&mut socket);
        socket.fields.snd_cwnd = 100;
        socket.fields.packets_out = 39;
        socket.fields.max_packets_out = 39;
        socket.fields.write_seq = socket.fields.snd_nxt;
        socket.fields.data_segs_out = 4 * 39;
        socket
    };
    for name in ["kk_reno", "kk_hybla", "kk_cubic", "kk_vegas", "kk_compound"] {
        let own = avoiding(name, 100_000, 100).ssthresh();
        assert!(own >= 50, "{name}: {own}");
        assert_eq!(stream(name).ssthresh(), own, "{name}: its own is more");
        let halved = |change: fn(&mut Socket)| {
            let mut socket = stream(name);
            socket.fields.snd_cwnd = 40;
            change(&mut socket);
            socket.ssthresh()
        };
        assert_eq!(halved(|_| ()), 39, "{name}");
        assert!(halved(|socket| socket.fields.write_seq += 1) < 30, "{name}: more waits");
        assert!(halved(|socket| socket.fields.data_segs_out -= 1) < 30, "{name}: a burst");
        let waits = halved(|socket| socket.fields.inet_conn.icsk_inet.sk.is_writer_waiting = true);
        assert!(waits < 30, "{name}: the program waits for room");
        let far =
            halved(|socket| (socket.fields.packets_out, socket.fields.data_segs_out) = (80, 320));
        assert_eq!(far, 40, "{name}: no more than the window");
    }
}

#[test]
fn undo_takes_back_a_reduction() {
    for algorithm in window_algorithms() {
        let mut socket = avoiding(algorithm.name(), 100_000, 20);
        socket.fields.prior_cwnd = 40;
        assert_eq!(socket.undo_cwnd(), 40, "{algorithm:?}");
    }
}

/// The window after each of thirty round trips that follow a loss, growth and what `meanwhile` does.
fn windows_after(algorithm: Algorithm, meanwhile: impl Fn(&mut Socket)) -> Vec<u32> {
    let mut socket = avoiding(algorithm.name(), 100_000, 200);
    (0..5).for_each(|_| round_trip(&mut socket));
    loss(&mut socket);
    (0..20).for_each(|_| round_trip(&mut socket));
    meanwhile(&mut socket);
    (0..30).map(|_| (round_trip(&mut socket), socket.fields.snd_cwnd).1).collect()
}

/// A reduction as the kernel goes through it, and its undo.
fn reduced_and_undone(socket: &mut Socket, state: CaState) {
    let (cwnd, ssthresh) = (socket.fields.snd_cwnd, socket.fields.snd_ssthresh);
    socket.fields.prior_cwnd = cwnd;
    socket.fields.snd_ssthresh = socket.ssthresh();
    socket.set_state(state);
    socket.fields.snd_cwnd = if state == CaState::Loss { 1 } else { socket.fields.snd_ssthresh };
    socket.fields.snd_cwnd = socket.undo_cwnd();
    socket.fields.snd_ssthresh = ssthresh;
    socket.set_state(CaState::Open);
    assert_eq!(socket.fields.snd_cwnd, cwnd);
}

#[test]
fn nothing_is_left_of_a_reduction_that_was_undone() {
    // Careful Resume goes back to another phase (RFC 9959), and Vegas begins another round trip of samples.
    let others = ["kk_resume", "kk_vegas"];
    for algorithm in window_algorithms().filter(|algorithm| !others.contains(&algorithm.name())) {
        let undisturbed = windows_after(algorithm, |_| ());
        for state in [CaState::Recovery, CaState::Loss] {
            let undone = windows_after(algorithm, |socket| reduced_and_undone(socket, state));
            assert_eq!(undone, undisturbed, "{algorithm:?}, {state:?}");
        }
        assert_ne!(windows_after(algorithm, loss), undisturbed, "{algorithm:?}");
    }
}

/// Every ordered pair: cwnd and ssthresh stay, and the next ACK grows no more than it may. A bbr
/// has no use for ssthresh; whoever follows it finds the one of before.
#[test]
fn switched_in_mid_flight() {
    for from in Algorithm::all() {
        for to in Algorithm::all() {
            let mut socket = avoiding("kk_cubic", 100_000, 60);
            let ssthresh = socket.fields.snd_ssthresh;
            socket.switch_to(from);
            for _ in 0..5 {
                round_trip(&mut socket);
            }
            let cwnd = socket.fields.snd_cwnd;
            assert!(cwnd >= 60, "{from:?} cuts the window it finds to {cwnd}");
            socket.switch_to(to);
            assert_eq!(socket.algorithm().name(), to.name());
            assert_eq!(socket.fields.snd_cwnd, cwnd, "{from:?} to {to:?}");
            if to.name().starts_with("kk_bbr") {
                assert!(socket.fields.snd_ssthresh > ssthresh, "{from:?} to {to:?}");
                assert!(socket.pacing().is_some(), "{from:?} to {to:?}");
            } else {
                assert_eq!(socket.fields.snd_ssthresh, ssthresh, "{from:?} to {to:?}");
                assert_eq!(socket.pacing().is_some(), is_always_paced(to), "{from:?} to {to:?}");
            }
            ack(&mut socket, 1, 100_000);
            let grown = socket.fields.snd_cwnd - cwnd;
            assert!(grown <= 1, "{from:?} to {to:?}: {grown} segments for one ACK");
            for _ in 0..20 {
                round_trip(&mut socket);
            }
            if to.controls_alone() {
                assert!(socket.fields.snd_cwnd >= CAPACITY, "{from:?} to {to:?}: collapses");
            } else {
                assert!(socket.fields.snd_cwnd > cwnd, "{from:?} to {to:?}: stalls");
            }
        }
    }
}

/// The kernel's bbr leaves ssthresh infinite and pacing on; whoever follows it mends both.
#[test]
fn what_bbr_leaves_behind_is_mended() {
    for algorithm in Algorithm::all() {
        let mut socket = avoiding("kk_cubic", 100_000, 60);
        socket.fields.snd_ssthresh = 0x7fff_ffff;
        socket.connection.as_mut().unwrap().ssthresh_before_bbr = 40;
        socket.set_pacing(true);
        socket.switch_to(algorithm);
        if algorithm.controls_alone() || is_always_paced(algorithm) {
            socket.switch_to(Algorithm::named("kk_cubic").unwrap());
        }
        assert_eq!(socket.fields.snd_ssthresh, 40, "{algorithm:?}");
        assert_eq!(socket.pacing(), None, "{algorithm:?}");
    }
}

#[test]
fn pacing_that_the_application_asked_for_stays() {
    let mut socket = avoiding("kk_cubic", 100_000, 60);
    socket.fields.inet_conn.icsk_inet.sk.sk_max_pacing_rate = 1_000_000;
    socket.set_pacing(true);
    socket.switch_to(Algorithm::named("kk_hybla").unwrap());
    assert!(socket.pacing().is_some());
}

#[test]
fn growth_outside_open_is_renos() {
    let mut socket = avoiding("kk_hybla", 200_000, 50);
    socket.set_state(CaState::Disorder);
    round_trip(&mut socket);
    assert_eq!(socket.fields.snd_cwnd, 51);
}
