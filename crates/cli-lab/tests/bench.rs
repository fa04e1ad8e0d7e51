//! The whole way: real connections over emulated paths, switched while they run.

mod common;

use std::fs;

use serde_json::Value;

use common::{lab, privileged_with_paths};

/// A long path without loss: cubic starts each burst over from ten segments.
const SCENARIO: &str = r#"
title = "A few bursts"
seed = 1
[workload]
burst = "64 KiB"
interval = "1 s"
count = 6
warmup = 2
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
contenders = ["cubic", "kk_hybla", "kirikae"]
"#;

#[test]
fn kirikae_answers_sooner_than_cubic_on_a_long_path() {
    if !privileged_with_paths() {
        return;
    }
    let directory = std::env::temp_dir().join(format!("kirikae-bench-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("scenario.toml");
    fs::write(&file, SCENARIO).unwrap();
    let output =
        lab().args(["bench", "--json", "--output"]).args([&directory, &file]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");

    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let contenders = summary["scenarios"][0]["contenders"].as_array().unwrap();
    let of = |name: &str| contenders.iter().find(|c| c["contender"] == name).unwrap();
    let mean = |name: &str| of(name)["mean_s"]["value"].as_f64().unwrap();
    assert!(contenders.iter().all(|c| c["n"] == 6 && c["unfinished"] == 0), "{summary:#}");
    // 0.52 s against 0.155 s: far apart enough for any machine that runs the tests.
    assert!(mean("kirikae") < 0.6 * mean("cubic"), "{summary:#}");
    assert!(mean("kk_hybla") < 0.6 * mean("cubic"), "{summary:#}");
    assert!(of("kirikae")["switches"].as_u64().unwrap() >= 1, "{summary:#}");
    assert_eq!(of("cubic")["switches"], 0, "stock stays stock");

    let records = fs::read_dir(&directory).unwrap().filter_map(Result::ok).map(|e| e.path());
    let run = records.filter(|path| path.is_dir()).collect::<Vec<_>>();
    let bursts = fs::read_to_string(run[0].join("bursts.jsonl")).unwrap();
    assert_eq!(bursts.lines().count(), 3 * 8, "every burst is a record, warm-up included");
    let last = bursts.lines().rfind(|line| line.contains("\"kirikae\"")).unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert!(last["algorithm_before"].as_str().unwrap().starts_with("kk_"), "{last}");
    fs::remove_dir_all(directory).unwrap();
}
