//! Tests a whole comparison on the real kernel, with stock cubic alone and with what is switched. It needs root.
//!
//! This program is its own player, as `kirikae` is; so it has no test harness.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use kirikae_bench::{self as bench, Options, player};
use kirikae_checks::{Need, can_run};
use kirikae_results::outcome::Outcome;
use kirikae_results::report;
use kirikae_results::summary::Summary;
use kirikae_scenario::{Controls, Scenario};

/// Packets 0 and 1 are the handshake's, so the first burst's 46 begin with number 2. Of the lost packets the
/// first two are of that burst; the third is of it or the next, the first copy or a later one.
const SCENARIO: &str = r#"title = "Three lost packets"
seed = 1
[workload]
burst = "64 KiB"
interval = "800 ms"
count = 4
warmup = 0
[[path.forward]]
element = "listed-loss"
packets = [20, 30, 60]
[[path.forward]]
element = "rate"
rate = "20 Mbit/s"
queue = "200 packets"
[[path.forward]]
element = "delay"
delay = "20 ms"
[[path.backward]]
element = "delay"
delay = "20 ms"
[bench]
contenders = ["cubic"]
"#;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, subcommand] = arguments.as_slice()
        && subcommand == player::SUBCOMMAND
    {
        player::run().unwrap_or_else(|error| panic!("{error}"));
        return;
    }
    if !can_run(&[Need::Root, Need::Tun]) {
        return;
    }
    a_comparison_measures_what_the_path_does();
    println!("a comparison measures what the path does ... ok");
    each_answer_has_a_connection_of_its_own();
    println!("each answer has a connection of its own ... ok");
    an_initial_window_is_as_asked_for();
    println!("an initial window is as asked for ... ok");
    if !can_run(&[Need::Root, Need::Tun, Need::Bpf]) {
        return;
    }
    r_tcp_is_switched_as_published();
    println!("R-TCP is switched as published ... ok");
}

/// Plays a scenario, with its records in this directory.
fn play(scenario: &str, directory: &Path) -> Outcome {
    let file = directory.join("scenario.toml");
    fs::write(&file, scenario).unwrap();
    let scenarios = Scenario::load(&file).unwrap_or_else(|refusal| panic!("{refusal}"));
    let output = directory.join("results");
    let (controls, at_once) = (Controls::default(), NonZeroUsize::MIN);
    let options = Options { output, controls, at_once, recording: None };
    let outcome = bench::run(&scenarios, &options).unwrap_or_else(|error| panic!("{error}"));
    println!("{}", report::render(&outcome, false));
    outcome
}

fn a_comparison_measures_what_the_path_does() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = play(SCENARIO, directory.path());
    assert!(!outcome.interrupted);
    let [cubic] = &outcome.comparisons[0].performances[..] else { panic!("one contender") };
    assert_eq!(cubic.unfinished, 0);
    let bursts: Vec<_> = cubic.counted().collect();
    assert_eq!(bursts.len(), 4);
    for (index, burst) in &bursts {
        // Without loss the bound is 20 ms + 27.2 ms; a whole interval more would be a stall.
        assert!(burst.bound_s > 0.047, "burst {index}: {burst:?}");
        assert!(burst.latency_s >= burst.bound_s, "burst {index}: {burst:?}");
        assert!(burst.latency_s < 0.8, "burst {index}: {burst:?}");
        assert!(burst.first_to_last_s < burst.latency_s, "burst {index}: {burst:?}");
    }
    assert!(cubic.bursts.iter().all(|burst| burst.algorithm_before == "cubic"));
    // It takes one round trip to repair packet 30: 20 ms + 40 ms + serialisation up to it, about 18 ms.
    let (_, first) = bursts[0];
    assert!((0.070..0.088).contains(&first.bound_s), "{first:?}");

    let summary = Summary::of(&outcome);
    let numbers = &summary.scenarios[0].contenders[0];
    assert_eq!((numbers.n, numbers.channel_drops, numbers.switches), (4, 3, 0));
    assert_eq!(numbers.under_1_s, Some(1.0));
    let of_itself = numbers.over_cubic.expect("cubic is there");
    assert!((of_itself.value - 1.0).abs() < 1e-9);
    check_records(outcome.records.as_deref().expect("a bench writes records"));
}

/// The servers' packet 0 is the SYN-ACK of the first connection, and the answers have 21 more each: packet 10 is
/// of the first.
const ANSWERS: &str = r#"title = "New connections"
seed = 1
[workload]
burst = "30 kB"
interval = "100 ms"
connection = "new"
overlap = false
count = 3
[[path.forward]]
element = "listed-loss"
packets = [10]
[[path.forward]]
element = "rate"
rate = "20 Mbit/s"
queue = "200 packets"
[[path.forward]]
element = "delay"
delay = "20 ms"
[[path.backward]]
element = "delay"
delay = "20 ms"
[bench]
contenders = ["cubic", "reno"]
"#;

fn each_answer_has_a_connection_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = play(ANSWERS, directory.path());
    for performance in &outcome.comparisons[0].performances {
        let bursts = &performance.bursts;
        assert_eq!((bursts.len(), performance.unfinished), (4, 0));
        // The server has what is compared.
        let contender = performance.contender.name();
        assert!(bursts.iter().all(|burst| burst.algorithm_after == contender), "{bursts:?}");
        // Handshake 60 ms, 21 segments in two flights, a round trip apart; the first lost one of them.
        let found = bursts.iter().map(|burst| burst.delivery.expect("it arrived"));
        let latencies: Vec<f64> = found.clone().map(|delivery| delivery.latency_s).collect();
        assert!(found.clone().all(|it| it.latency_s >= it.bound_s && it.bound_s > 0.092));
        assert!(latencies[1..].iter().all(|latency| (0.12..0.19).contains(latency)));
        assert!(latencies[0] > 0.15, "{latencies:?}");
        for pair in bursts.windows(2) {
            let end_ns = pair[0].start_ns as f64 + pair[0].delivery.unwrap().latency_s * 1e9;
            assert!(pair[1].start_ns as f64 >= end_ns, "{pair:?}");
        }
    }
}

fn an_initial_window_is_as_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = play(&format!("{ANSWERS}[stack]\ninitial-window = 30\n"), directory.path());
    for performance in &outcome.comparisons[0].performances {
        // All 21 segments in one flight: nothing but the bound, 92 ms.
        let latencies = performance.bursts[1..].iter().map(|burst| burst.delivery.unwrap());
        assert!(latencies.clone().all(|it| (0.092..0.115).contains(&it.latency_s)));
    }
}

/// A round trip of 200 ms, where the thesis' tables have hybla first, and no loss.
const SWITCHED: &str = r#"title = "Switched"
seed = 1
[workload]
burst = "64 KiB"
interval = "2 s"
count = 2
[[path.forward]]
element = "rate"
rate = "20 Mbit/s"
queue = "200 packets"
[[path.forward]]
element = "delay"
delay = "100 ms"
[[path.backward]]
element = "delay"
delay = "100 ms"
[bench]
contenders = ["cubic", "r-tcp", "kirikae"]
"#;

/// The thesis' tables have nine candidates, ours have stock cubic among theirs.
fn r_tcp_is_switched_as_published() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = play(SWITCHED, directory.path());
    let switches = |contender: &str| {
        let mut plays = outcome.comparisons[0].performances.iter();
        let play = plays.find(|play| play.contender.name() == contender).unwrap();
        play.switches.clone()
    };
    assert!(switches("cubic").is_empty());
    let [switch] = &switches("r-tcp")[..] else { panic!("one switch: {:?}", switches("r-tcp")) };
    assert_eq!((&switch.from[..], &switch.to[..]), ("cubic", "kk_hybla"));
    let columns: Vec<&str> = switch.predicted_s.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!((columns.len(), columns[0]), (9, "kk_hybla"));
    for switch in switches("kirikae") {
        assert!(switch.predicted_s.iter().any(|(name, _)| name == "cubic"), "{switch:?}");
    }
    assert!(!switches("kirikae").is_empty());
}

fn check_records(records: &Path) {
    let read = |name: &str| fs::read_to_string(records.join(name)).unwrap();
    assert_eq!(read("bursts.jsonl").lines().count(), 4);
    assert_eq!(read("drops.jsonl").lines().count(), 3);
    assert_eq!(read("switches.jsonl"), "");
    let run: serde_json::Value = serde_json::from_str(&read("run.json")).unwrap();
    let flow = &run["comparisons"][0]["scenario"]["flows"][0];
    assert_eq!(flow["activities"][0]["bursts"]["burst"], 65_536);
    assert_eq!(run["comparisons"][0]["paths"][0]["contender"], "cubic");
    assert_eq!(run["clock"], "real");
    assert_eq!(run["kernel"], fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim());
}
