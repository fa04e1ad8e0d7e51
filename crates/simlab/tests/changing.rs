//! Paths that change, and what the last bursts take when the change is long past.

use kirikae_testing::simulate;

/// Mean latency of the latest `last` bursts of each contender, seconds.
fn latest(last: usize, contenders: &[&str], text: &str) -> Vec<f64> {
    let outcome = simulate(&format!("{text}\n[bench]\ncontenders = {contenders:?}\n"), &[]);
    let performances = outcome.comparisons[0].performances.iter();
    let latest = performances.map(|performance| {
        let waits: Vec<f64> = performance.waits().map(|(_, seconds)| seconds).collect();
        waits[waits.len() - last..].iter().sum::<f64>() / last as f64
    });
    latest.collect()
}

/// With losses on the way from a wireless LAN to a slow network and its longer round trip: the window
/// that idle keep goes on with is one of that round trip, though the kernel's lowest is of the other.
#[test]
fn idle_keep_goes_by_the_round_trip_of_the_latest_burst() {
    let direction = |name: &str| {
        format!(
            r#"
[[path.{name}]]
element = "link-change"
links = [
    {{ at = "0 s", rate = "20 Mbit/s", delay = "8 ms" }},
    {{ at = "20 s", silence = "200 ms", rate = "2 Mbit/s", delay = "60 ms" }},
    {{ at = "50 s", silence = "200 ms", rate = "20 Mbit/s", delay = "8 ms" }},
    {{ at = "80 s", silence = "200 ms", rate = "2 Mbit/s", delay = "60 ms" }},
]
queue = "80 packets"
"#
        )
    };
    let text = format!(
        "title = \"x\"\nseed = 1\n[workload]\nburst = \"64 KiB\"\ninterval = \"2 s\"\ncount = 80\n{}{}",
        direction("forward"),
        direction("backward")
    );
    // 46 packets of 1,500 bytes at most over 2 Mbit/s, and 60 ms.
    for latency_s in latest(20, &["kk_scalable", "kk_hybla", "kk_reno"], &text) {
        assert!((0.328..0.336).contains(&latency_s), "{latency_s} s");
    }
}

/// Others fill a queue for 8 of 40 s: bbr, which was right then, is slow for long afterwards.
#[test]
fn an_algorithm_that_remembers_another_path_is_left() {
    let text = r#"
title = "x"
seed = 1009
[workload]
burst = "64 KiB"
interval = "2 s"
count = 120
[[path.forward]]
element = "rate"
rate = "10 Mbit/s"
queue = "500 packets"
cross = { rate = "11.5 Mbit/s", on = "8 s", off = "32 s" }
[[path.forward]]
element = "delay"
delay = "30 ms"
[[path.backward]]
element = "delay"
delay = "30 ms"
"#;
    let latest = latest(8, &["kirikae", "kk_scalable", "kk_bbr"], text);
    assert!(latest[2] > 1.2 * latest[1], "{latest:?}");
    assert!(latest[0] < 1.05 * latest[1], "{latest:?}");
}
