//! Answers, each on a connection of its own.

mod common;

use common::{answer, answers, ms, times};
use kirikae_sim::{Flow, SimulationError};

#[test]
fn one_within_the_initial_window_takes_two_round_trips_and_its_serialisation() {
    let outcome = answers(vec![answer(14_480, 0, None)]).run().unwrap();
    // SYN, SYN-ACK (60 bytes at 10 Mbit/s), ACK, ten segments of 1500 bytes.
    let expected = 4.0 * 100.0 + 0.048 + 12.0;
    let [(0.0, found)] = times(&outcome)[..] else { panic!("one answer") };
    assert!((found - expected).abs() < 0.01, "{found} ms, not {expected}");
    assert_eq!(outcome.left, []);
}

#[test]
fn a_larger_one_has_its_slow_start() {
    let outcome = answers(vec![answer(60_000, 0, None)]).run().unwrap();
    // 42 segments: 10, 20 and 12, a round trip apart; of the third flight the sixth segment of the second
    // is the one whose ACK lets the last go (7.2 ms), behind those of the same ACK (at most 4: 4.8 ms).
    let expected = 300.0 + 2.0 * 200.0 + 7.2 + 4.8 + 100.0;
    let [(_, found)] = times(&outcome)[..] else { panic!("one answer") };
    assert!((found / expected - 1.0).abs() < 0.02, "{found} ms, not {expected}");
}

#[test]
fn each_begins_anew_and_all_alike() {
    let flows: Vec<Flow> = (0..3).map(|number| answer(60_000, 2_000 * number, None)).collect();
    let outcome = answers(flows.clone()).run().unwrap();
    let latencies: Vec<f64> = times(&outcome).iter().map(|(from, to)| to - from).collect();
    assert!(latencies.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-6), "{latencies:?}");
    assert_eq!(answers(flows).run().unwrap(), outcome);
}

#[test]
fn one_that_waits_begins_when_the_one_before_it_has_arrived() {
    // The first takes longer than 500 ms, the second is over before 3000 ms.
    let flows =
        vec![answer(60_000, 0, None), answer(1_000, 500, Some(0)), answer(1_000, 3_000, Some(1))];
    let outcome = answers(flows).run().unwrap();
    let [(_, first), (second, end), (third, _)] = times(&outcome)[..] else { panic!("three") };
    assert_eq!((second, third), (first, 3_000.0));
    assert!((end - second - 400.0).abs() < 1.0, "{second} to {end} ms");
    assert_eq!(outcome.left, []);
}

#[test]
fn what_was_not_begun_is_left() {
    let mut simulation = answers(vec![answer(60_000, 0, None), answer(60_000, 0, Some(0))]);
    simulation.duration = ms(500);
    let outcome = simulation.run().unwrap();
    assert_eq!(outcome.flows[1].server, []);
    let left: Vec<(u64, bool)> = outcome.left.iter().map(|it| (it.bytes, it.more)).collect();
    assert_eq!(left, [(60_000 - outcome.flows[0].traffic[1].arrived, false), (0, true)]);
}

#[test]
fn only_an_earlier_flow_is_waited_for() {
    let refused = answers(vec![answer(1, 0, None), answer(1, 0, Some(1))]).run();
    assert_eq!(refused.unwrap_err(), SimulationError::Order { flow: 1, after: 1 });
}
