//! HighSpeed TCP's formulas: RFC 3649.

mod common;

use common::{avoiding, growth, loss, round_trip_of, socket, taken_over};
use kirikae_algorithms::Algorithm;

/// a(w), from what one ACK adds to the count; b(w), from ssthresh.
fn a_and_b(w: u32) -> (u32, f64) {
    let mut socket = avoiding("kk_highspeed", 100_000, w);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.fields.snd_cwnd, w);
    let ssthresh = socket.ssthresh();
    (socket.fields.snd_cwnd_cnt, 1.0 - f64::from(ssthresh) / f64::from(w))
}

/// Rows of the table of appendix B: a(w) and b(w) at w, and a(w) one segment further.
#[test]
fn rows_of_appendix_b() {
    for (w, a, b) in [
        (38, 1, 0.50),
        (118, 2, 0.44),
        (221, 3, 0.41),
        (347, 4, 0.38),
        (495, 5, 0.37),
        (663, 6, 0.35),
        (851, 7, 0.34),
        (1058, 8, 0.33),
        (1284, 9, 0.32),
        (1529, 10, 0.31),
        (1793, 11, 0.30),
        (5036, 20, 0.25),
        (10661, 30, 0.21),
        (18955, 40, 0.18),
        (30975, 50, 0.15),
        (48961, 60, 0.13),
        (79517, 70, 0.10),
        (84035, 71, 0.10),
        (89053, 72, 0.10),
        (94717, 73, 0.09),
    ] {
        let (a_found, b_found) = a_and_b(w);
        assert_eq!(a_found, a, "a({w})");
        assert!((b_found - b).abs() < 0.0065, "b({w}) = {b_found}");
        assert_eq!(a_and_b(w + 1).0, (a + 1).min(73), "a({})", w + 1);
    }
}

/// Section 5: "b(w) = (High_Decrease - 0.5) (log(w)-log(W)) / (log(W_1)-log(W)) + 0.5" and
/// "a(w) = w^2 * p(w) * 2 * b(w)/(2-b(w))" with p(w) = 0.078/w^1.2. A row's a(w) is for the
/// windows up to it: at most one segment more than the formula gives.
#[test]
fn every_window_agrees_with_the_formulas() {
    for w in (38..94_717).step_by(31) {
        let x = f64::from(w);
        let b = (0.1 - 0.5) * (x / 38.0).ln() / (83_000.0f64 / 38.0).ln() + 0.5;
        let a = x.powf(0.8) * 0.078 * 2.0 * b / (2.0 - b);
        let (a_found, b_found) = a_and_b(w);
        let over = f64::from(a_found) - a;
        assert!((-0.3..1.6).contains(&over), "a({w}) = {a_found}, formula {a}");
        // b(w) of the row's end is lower than at its beginning, by 0.06 in the second row.
        let below = b - b_found;
        let width = if w <= 118 { 0.06 } else { 0.036 };
        assert!((-0.006..width).contains(&below), "b({w}) = {b_found}, formula {b}");
    }
}

#[test]
fn reno_up_to_38_segments() {
    let mut socket = avoiding("kk_highspeed", 100_000, 30);
    assert_eq!(growth(&mut socket), 1);
    loss(&mut socket);
    assert_eq!(socket.fields.snd_cwnd, 16, "a half is given up");
}

/// a(w) a round trip, if every segment is ACKed by itself; half of that with every second.
#[test]
fn growth_counts_acks() {
    let mut socket = avoiding("kk_highspeed", 100_000, 1000);
    let grown = growth(&mut socket);
    assert!((7..=8).contains(&grown), "{grown}");
    let before = socket.fields.snd_cwnd;
    round_trip_of(&mut socket, 100_000, 2);
    let grown = socket.fields.snd_cwnd - before;
    assert!((4..=5).contains(&grown), "{grown}");
}

#[test]
fn a_loss_in_the_first_slow_start_halves() {
    let mut socket = socket("kk_highspeed", 100_000);
    socket.fields.snd_cwnd = 2000;
    assert_eq!(socket.ssthresh(), 1000);
}

/// A loss before the first ACK is answered by the window found.
#[test]
fn taken_over_in_mid_flight_b_is_known_at_once() {
    let algorithm = Algorithm::named("kk_highspeed").unwrap();
    assert_eq!(taken_over(algorithm, 100_000, 1793).ssthresh(), 1793 - 1793 * 3 / 10);
}
