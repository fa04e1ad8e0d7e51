//! New connections on the real kernel that begin with what the ones before have shown of the path. (A file of its
//! own, since two runs at once would register the same algorithms.)

mod common;

use std::fs;

use serde_json::Value;

use common::{lab, privileged_with_paths};

/// Answers that take two flights of slow start, and one where the path is known.
const SCENARIO: &str = r#"
title = "Answers, first flight"
seed = 1
[scope]
warm-start = "first-flight"
[workload]
burst = "40 kB"
interval = "500 ms"
connection = "new"
count = 8
warmup = 0
[[path.forward]]
element = "rate"
rate = "20 Mbit/s"
queue = "100 packets"
[[path.forward]]
element = "delay"
delay = "40 ms"
[[path.backward]]
element = "delay"
delay = "40 ms"
[bench]
contenders = ["cubic", "kirikae"]
"#;

#[test]
fn a_known_path_is_begun_with_what_was_known() {
    if !privileged_with_paths() {
        return;
    }
    let directory = std::env::temp_dir().join(format!("kirikae-warm-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("scenario.toml");
    fs::write(&file, SCENARIO).unwrap();
    let output =
        lab().args(["bench", "--json", "--output"]).args([&directory, &file]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    let run = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let run = run.into_iter().find(|path| path.is_dir()).unwrap();
    let records = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(run.join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };

    let latencies = |contender: &str| -> Vec<f64> {
        let bursts = records("bursts.jsonl");
        let own = bursts.iter().filter(|burst| burst["contender"] == contender);
        own.map(|burst| burst["latency_s"].as_f64().unwrap()).collect()
    };
    let (stock, ours) = (latencies("cubic"), latencies("kirikae"));
    assert_eq!((stock.len(), ours.len()), (8, 8));
    // Half of what three have delivered is enough for all of the fifth: a round trip of 80 ms less.
    for (stock, ours) in stock.iter().zip(&ours).skip(4) {
        assert!(*ours < stock - 0.04, "{ours:?} s, and {stock:?} s of stock cubic");
    }
    let switches = records("switches.jsonl");
    let warm: Vec<&Value> =
        switches.iter().filter(|switch| switch["reason"] == "warm-start").collect();
    assert!(warm.len() >= 5, "{switches:#?}");
    for switch in &warm {
        let known = &switch["known"];
        assert_eq!((&switch["to"], &known["is_first_flight"]), (&"kk_resume".into(), &true.into()));
        let rtt_s = known["rtt_s"].as_f64().unwrap();
        assert!((0.08..0.12).contains(&rtt_s) && known["age_s"].as_u64().unwrap() < 10, "{known}");
        assert!(known["jump_bytes"].as_u64() <= known["window_bytes"].as_u64(), "{known}");
    }
    fs::remove_dir_all(directory).unwrap();
}
