//! BIC's formulas: Xu, Harfoush, Rhee, INFOCOM 2004.

mod common;

use common::{avoiding, growth, loss, round_trip, round_trip_of, socket, socket_of, taken_over};
use kirikae_algorithms::{Algorithm, CaState, Socket};

fn bic() -> Algorithm {
    Algorithm::named("kk_bic").unwrap()
}

/// A loss at 1000 segments, and the window put to `cwnd`.
fn below_1000(algorithm: Algorithm, cwnd: u32) -> Socket {
    let mut socket = socket_of(algorithm, 100_000);
    socket.fields.snd_cwnd = 1000;
    loss(&mut socket);
    assert_eq!(socket.fields.snd_cwnd, 800, "beta = 0.8");
    socket.fields.snd_cwnd = cwnd;
    socket
}

/// "the current congestion window is increased by S_max": 32 in a round trip, 200 below W_max.
#[test]
fn far_from_w_max_growth_is_s_max() {
    let grown = growth(&mut below_1000(bic(), 800));
    assert!((31..=34).contains(&grown), "{grown}");
    let half = growth(&mut below_1000(bic().with("smax", 8).unwrap(), 800));
    assert!((15..=17).contains(&half), "{half}");
}

#[test]
fn slow_start_stops_at_ssthresh() {
    let mut fresh = socket("kk_bic", 100_000);
    assert_eq!(growth(&mut fresh), 10);

    let mut socket = below_1000(bic(), 780);
    for _ in 0..40 {
        socket.cong_avoid(0, 1);
    }
    assert!((800..=801).contains(&socket.fields.snd_cwnd), "{}", socket.fields.snd_cwnd);
}

/// The paper's target is the midpoint; it is set anew with each ACK, so d goes to d / sqrt(e).
#[test]
fn a_round_trip_goes_to_the_midpoint() {
    for distance in [60, 40, 20] {
        let grown = f64::from(growth(&mut below_1000(bic(), 1000 - distance)));
        let expected = f64::from(distance) * (1.0 - (-0.5f64).exp());
        assert!((grown - expected).abs() <= 0.15 * expected + 1.0, "{grown} of {distance}");
    }
}

/// S_min = 0.2, twice because of the segments per ACK: 1 segment in 2.6 round trips.
#[test]
fn next_to_w_max_growth_is_s_min() {
    for (smin_100, round_trips) in [(20, 20), (40, 10)] {
        let mut socket = below_1000(bic().with("smin_100", smin_100).unwrap(), 993);
        for _ in 0..round_trips {
            round_trip(&mut socket);
        }
        let grown = socket.fields.snd_cwnd - 993;
        assert!((7..=8).contains(&grown), "{grown} in {round_trips} round trips");
    }
}

/// Max probing: as slowly away from W_max as towards it, then by S_max.
#[test]
fn beyond_w_max_growth_mirrors_the_search() {
    let grown = [1001, 1012, 1030, 1100].map(|cwnd| growth(&mut below_1000(bic(), cwnd)));
    assert!(grown[0] <= 1, "{grown:?}");
    // d e^(2/3) of d
    for (d, grown) in [(12.0, grown[1]), (30.0, grown[2])] {
        let expected = d * ((2.0f64 / 3.0).exp() - 1.0);
        assert!((f64::from(grown) - expected).abs() <= 0.15 * expected + 1.0, "{grown} at {d}");
    }
    assert!((31..=34).contains(&grown[3]), "{grown:?}");
}

/// "max_win = (max_win + min_win)/2": 810 after a loss at 900, where W_max was 1000.
#[test]
fn a_loss_below_w_max_lowers_it() {
    for (fast_convergence, expected) in [(1, 0..=1), (0, 31..=35)] {
        let algorithm = bic().with("fast_convergence", fast_convergence).unwrap();
        let mut socket = below_1000(algorithm, 900);
        loss(&mut socket);
        assert_eq!(socket.fields.snd_cwnd, 720);
        socket.fields.snd_cwnd = 810;
        let grown = growth(&mut socket);
        assert!(expected.contains(&grown), "{grown} with fast convergence {fast_convergence}");
    }
}

#[test]
fn reno_up_to_the_low_window() {
    let mut socket = avoiding("kk_bic", 100_000, 13);
    assert_eq!(growth(&mut socket), 1);
    assert_eq!(socket.ssthresh(), 7);
    socket.fields.snd_cwnd = 15;
    assert_eq!(socket.ssthresh(), 12);
}

/// With no W_max, growth is S_max or 1/20 of the window; also after a timeout.
#[test]
fn without_w_max_growth_is_fast() {
    let mut socket = socket("kk_bic", 100_000);
    socket.fields.snd_ssthresh = 160;
    socket.fields.snd_cwnd = 160;
    let grown = growth(&mut socket);
    assert!((32..=36).contains(&grown), "{grown}");

    let mut socket = below_1000(bic(), 999);
    socket.set_state(CaState::Loss);
    socket.set_state(CaState::Open);
    let grown = growth(&mut socket);
    // 20 segments ACKed for one of growth, or 10 by the segments per ACK.
    assert!((95..=110).contains(&grown), "{grown}");
}

/// The window found is W_max: nothing tells that the path carries more.
#[test]
fn taken_over_in_mid_flight_it_probes_slowly() {
    let mut socket = taken_over(bic(), 100_000, 500);
    for _ in 0..3 {
        round_trip(&mut socket);
    }
    assert!((501..=502).contains(&socket.fields.snd_cwnd), "{}", socket.fields.snd_cwnd);
}

/// 4 segments per ACK: twice what it is with 2.
#[test]
fn growth_is_by_segments_per_ack() {
    let mut socket = below_1000(bic(), 400);
    socket.fields.snd_ssthresh = 200;
    for per_ack in [2, 4] {
        socket.fields.snd_cwnd = 400;
        socket.fields.snd_cwnd_cnt = 0;
        round_trip_of(&mut socket, 100_000, per_ack);
        socket.fields.snd_cwnd = 400;
        round_trip_of(&mut socket, 100_000, per_ack);
        let grown = socket.fields.snd_cwnd - 400;
        let expected = 16 * per_ack;
        assert!((expected - 3..=expected + 6).contains(&grown), "{grown} with {per_ack}");
    }
}
