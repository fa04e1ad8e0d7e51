//! The short form of docs/agreement.md: the simulator beside the kernel, on one path with and without
//! loss, and on links that groups of flows share.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use common::{lab, privileged_with_paths};

const SCENARIO: &str = r#"
title = "Loss $loss"
seed = 2
[sweep]
loss = [0, 0.01]
[workload]
burst = "64 KiB"
interval = "1 s"
count = 30
[[path.forward]]
element = "loss"
probability = "$loss"
[[path.forward]]
element = "rate"
rate = "10 Mbit/s"
queue = "100 packets"
[[path.forward]]
element = "delay"
delay = "50 ms"
[[path.backward]]
element = "delay"
delay = "50 ms"
[bench]
contenders = ["cubic", "cubic-no-idle-restart", "bbr", "kk_bbr", "kk_bbr3", "kk_hybla", "kirikae"]
"#;

const GROUPS: &str = r#"
title = "Groups"
seed = 2
[sim]
duration = "20 s"
measured = { from = "5 s", to = "20 s" }
[[link]]
name = "uplink"
[[link.forward]]
element = "rate"
rate = "5 Mbit/s"
queue = "40 packets"
[[link.forward]]
element = "delay"
delay = "25 ms"
[[link.backward]]
element = "delay"
delay = "25 ms"
[[link]]
name = "other"
forward = [{ element = "rate", rate = "20 Mbit/s", queue = "50 packets" }]
backward = [{ element = "delay", delay = "20 ms" }]
[[flow]]
name = "bulk"
route = ["uplink"]
[flow.workload]
kind = "bulk"
bytes = "unlimited"
[[flow]]
name = "fresh"
count = 15
route = ["other"]
stagger = "15 s"
[flow.workload]
burst = "64 KiB"
interval = "1 s"
count = 1
warmup = 0
[bench]
contenders = ["cubic", "bbr", "kirikae"]
"#;

/// How far apart the medians may be, as a ratio, and shares of a link.
const NEAR: f64 = 0.1;
/// How often it is measured while medians differ that need not: where a path was not held (something stopped
/// the emulator, or the machine is too busy), and once each with a BBR, whose probes the kernel times by chance.
const TRIES: usize = 4;

#[test]
fn simulator_and_kernel_agree_on_medians_and_shares() {
    if !privileged_with_paths() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let files = [("path", SCENARIO), ("groups", GROUPS)].map(|(name, text)| {
        let file = directory.path().join(format!("{name}.toml"));
        fs::write(&file, text).unwrap();
        file
    });
    let mut before: Vec<Value> = Vec::new();
    for _ in 0..TRIES {
        let cells = cells(directory.path(), &files);
        assert_eq!(cells.len(), 2 * 7 + 3 * 2);
        let apart: Vec<Value> = cells.into_iter().filter(|cell| !is_near(cell)).collect();
        if apart.is_empty() {
            return;
        }
        let excused = |cell: &Value| {
            cell["contender"].as_str().is_some_and(|name| name.contains("bbr"))
                && !before.iter().any(|earlier| is_same(earlier, cell))
        };
        let wrong: Vec<&Value> =
            apart.iter().filter(|cell| cell["held"] == true && !excused(cell)).collect();
        assert!(wrong.is_empty(), "although paths were held: {wrong:#?}");
        before.extend(apart.into_iter().filter(|cell| cell["held"] == true));
    }
    panic!("in each of {TRIES} runs some median differed, or a path was not held: {before:#?}");
}

fn cells(directory: &Path, files: &[PathBuf]) -> Vec<Value> {
    let output =
        lab().args(["validate", "--json", "--output"]).arg(directory).args(files).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    // 1: too few of the cells agree in mean and tail, which a busy machine alone can cause.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{error}");
    assert!(error.contains("Records: "), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether both are of the same contender and flow on the same path.
fn is_same(cell: &Value, other: &Value) -> bool {
    ["scenario", "contender", "flow"].iter().all(|key| cell[*key] == other[*key])
}

fn is_near(cell: &Value) -> bool {
    let number = |value: &Value| value.as_f64().unwrap();
    if cell["has_share"] == true {
        let goodput = &cell["goodput"];
        let share = |side: &str| number(&goodput[format!("{side}_share")]["value"]);
        return (share("kernel") - share("simulated")).abs() < NEAR;
    }
    let writes = if cell["flow"] == "fresh" { 15 } else { 30 };
    assert_eq!(cell["n"], writes, "{cell:#}");
    (number(&cell["p50_ratio"]) - 1.0).abs() < NEAR
}
