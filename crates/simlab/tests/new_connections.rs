//! Answers on connections of their own, through the simulator.

use kirikae_results::outcome::Performance;
use kirikae_results::report;
use kirikae_testing::simulate;

/// RTT 200 ms and 10 Mbit/s; each packet that the server sends may be lost.
fn scenario(workload: &str, loss: f64) -> String {
    format!(
        r#"title = "New connections"
seed = 1
[workload]
burst = "60 kB"
connection = "new"
{workload}
[[path.forward]]
element = "loss"
probability = {loss:?}
[[path.forward]]
element = "rate"
rate = "10 Mbit/s"
queue = "100 packets"
[[path.forward]]
element = "delay"
delay = "100 ms"
[[path.backward]]
element = "delay"
delay = "100 ms"
[bench]
contenders = ["cubic", "bbr", "kirikae"]
"#
    )
}

fn performances(text: &str) -> Vec<Performance> {
    let mut outcome = simulate(text, &[]);
    println!("{}", report::render(&outcome, false));
    outcome.comparisons.remove(0).performances
}

#[test]
fn each_is_measured_from_its_syn() {
    let [cubic, _, kirikae] = &performances(&scenario("interval = \"3 s\"\ncount = 5", 0.0))[..]
    else {
        panic!("three contenders")
    };
    assert_eq!((cubic.bursts.len(), cubic.unfinished), (6, 0));
    for burst in &cubic.bursts {
        let delivery = burst.delivery.expect("it arrived");
        // Handshake 300 ms; 42 segments in three flights; crates/sim/tests/answers.rs has it in detail.
        assert!((delivery.latency_s / 0.812 - 1.0).abs() < 0.02, "{burst:?}");
        // 400 ms, and 60000 + 42 * 52 bytes at 10 Mbit/s.
        assert!((delivery.bound_s - 0.449_747_2).abs() < 1e-6, "{burst:?}");
        assert_eq!(burst.start_ns, u64::from(burst.index) * 3_000_000_000);
    }
    // Nothing has been lost that would have it switch.
    assert_eq!(kirikae.bursts[5].algorithm_after, "cubic");
}

#[test]
fn one_that_does_not_overlap_begins_when_the_one_before_has_arrived() {
    let text = scenario("interval = \"100 ms\"\noverlap = false\ncount = 5", 0.01);
    for performance in performances(&text) {
        assert_eq!(performance.unfinished, 0);
        for pair in performance.bursts.windows(2) {
            let end_ns = pair[0].start_ns as f64 + pair[0].delivery.unwrap().latency_s * 1e9;
            assert!((pair[1].start_ns as f64 - end_ns).abs() < 1e3, "{pair:?}");
        }
    }
}

#[test]
fn what_was_lost_is_in_the_bound_of_its_own_connection() {
    let text = scenario("interval = \"100 ms\"\ncount = 20", 0.02);
    let performances = performances(&text);
    let bounds: Vec<f64> = performances[0].counted().map(|(_, it)| it.bound_s).collect();
    let late = bounds.iter().filter(|bound| **bound > 0.6).count();
    assert!((1..20).contains(&late), "some lost a packet that mattered: {bounds:?}");
    for (index, delivery) in performances.iter().flat_map(Performance::counted) {
        assert!(delivery.latency_s >= delivery.bound_s, "{index}: {delivery:?}");
    }
}
