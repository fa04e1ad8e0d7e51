//! The simulator from the command line: the same bytes for any number of threads, and what only it
//! can play is refused elsewhere.

mod common;

use std::fs;
use std::path::Path;

use serde_json::Value;

use common::lab;

/// Every kind of workload, random starts and losses, and several repetitions of several contenders.
const SCENARIO: &str = r#"
title = "Something of everything"
seed = 5
[workload]
kind = "on-off"
write = "2 kB"
rate = "1 Mbit/s"
on = "500 ms"
off = "500 ms"
turns = "exponential"
[sim]
duration = "10 s"
repetitions = 3
[[link]]
name = "lossy"
forward = [{ element = "loss", probability = 0.02 }, { element = "delay", delay = "20 ms" }]
backward = [{ element = "delay", delay = "20 ms" }]
[[link]]
name = "shared"
forward = [{ element = "rate", rate = "8 Mbit/s", queue = "40 packets" }]
backward = [{ element = "delay", delay = "5 ms" }]
[[flow]]
name = "talk"
count = 5
route = ["lossy", "shared"]
stagger = "2 s"
[[flow]]
name = "mix"
count = 2
route = ["shared"]
[[flow.workload]]
burst = "20 kB"
interval = "1 s"
spacing = "exponential"
count = 5
[[flow.workload]]
kind = "requests"
request = "1 kB"
response = "30 kB"
think = "300 ms"
spacing = "exponential"
count = 10
[[flow]]
name = "bulk"
route = ["lossy", "shared"]
contender = "kk_westwood"
workload = { kind = "bulk", bytes = "unlimited" }
[bench]
contenders = ["cubic", "kk_hybla", "kirikae"]
"#;

/// What a run on so many threads prints, and its records of flows.
fn simulated(directory: &Path, threads: &str) -> (Vec<u8>, String) {
    let file = directory.join("scenario.toml");
    let output = directory.join(format!("records-{threads}"));
    let run = |arguments: &[&str]| {
        let mut command = lab();
        command
            .env("RAYON_NUM_THREADS", threads)
            .args(["sim", "--json"])
            .args(arguments)
            .arg(&file);
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    };
    run(&["--output", output.to_str().unwrap()]);
    let records = fs::read_dir(&output).unwrap().next().unwrap().unwrap().path();
    (run(&[]), fs::read_to_string(records.join("flows.jsonl")).unwrap())
}

#[test]
fn the_same_bytes_come_out_for_any_number_of_threads() {
    let directory = std::env::temp_dir().join(format!("kirikae-threads-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("scenario.toml"), SCENARIO).unwrap();
    let one = simulated(&directory, "1");
    assert!(one == simulated(&directory, "2"), "two threads differ");
    assert!(one == simulated(&directory, "8"), "eight threads differ");

    let (summary, records) = one;
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    let groups = summary["scenarios"][0]["flows"].as_array().unwrap();
    assert_eq!(groups.len(), 3 * 3, "contenders times groups");
    assert_eq!(groups[1]["flow"], "mix");
    assert!(groups[1]["goodput_mbit"]["half_width"].as_f64().unwrap() > 0.0);
    // Contenders, repetitions, flows.
    assert_eq!(records.lines().count(), 3 * 3 * 8);
    let last: Value = serde_json::from_str(records.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["contender"], &last["seed"], &last["flow"], &last["played"]),
        (&"kirikae".into(), &7.into(), &"bulk".into(), &"kk_westwood".into())
    );
    fs::remove_dir_all(directory).unwrap();
}

/// What `kirikae-lab bench` says of a scenario that is good, but only for the simulator.
fn benched(name: &str, change: impl Fn(&str) -> String) -> String {
    let text = change(include_str!("../../../scenarios/long-isolated-1.toml"));
    let directory = std::env::temp_dir().join(format!("kirikae-{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("x.toml");
    fs::write(&file, &text).unwrap();
    let results = directory.join("results");
    let output = lab().arg("bench").arg(&file).arg("--output").arg(&results).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(output.stdout.is_empty() && !results.exists(), "nothing is created");
    let message = String::from_utf8(output.stderr).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let place = format!("kirikae-lab: {}:", file.display());
    message.strip_prefix(&place).unwrap_or_else(|| panic!("{message}")).trim().to_owned()
}

#[test]
fn bench_refuses_what_only_the_simulator_plays() {
    let stack = benched("stack", |text| format!("{text}\n[stack]\nprofile = \"ns-2\"\n"));
    assert!(
        stack.contains(": stack: found [stack]; allowed: none but receive-buffer, receive"),
        "{stack}"
    );
    let parking_lot =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/parking-lot.toml").to_owned();
    let parking_lot = fs::read_to_string(parking_lot).unwrap();
    let cross = "name = \"cross 3\"\nroute = [\"third\"]\nstagger = \"1 s\"\ncontender = \"cubic\"";
    let contender = benched("contender", |_| {
        assert_eq!(parking_lot.matches(cross).count(), 1);
        parking_lot.replace(cross, &cross.replace("\"cubic\"", "\"bpftune\""))
    });
    assert!(
        contender
            .contains(": flow[3].contender: found \"bpftune\"; allowed: one that the real kernel"),
        "{contender}"
    );
}

#[test]
fn contenders_of_the_simulator_alone_are_refused_by_the_bench() {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/shallow.toml");
    for contenders in ["all", "r-tcp,bpftune", "bpftune"] {
        let output = lab().args(["bench", scenario, "--contenders", contenders]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{contenders}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(" is played by the simulator alone"), "{message}");
    }
    let output = lab().args(["sim", scenario, "--contenders", "cubic,no"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("found \"no\"; allowed: all, or each once of cubic, bbr,"),
        "{message}"
    );
    let output =
        lab().args(["sim", "--json", scenario, "--contenders", "bbr,kk_bbr"]).output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names = summary["scenarios"][0]["contenders"].as_array().unwrap();
    assert_eq!(names.len(), 2);
    assert_eq!((&names[0]["contender"], &names[1]["contender"]), (&"bbr".into(), &"kk_bbr".into()));
}
