//! The short form of docs/agreement.md: the simulator beside the kernel, on one path with and without
//! loss.

mod common;

use std::fs;
use std::path::Path;

use common::{kirikae, privileged_with_paths};
use serde_json::Value;

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
contenders = ["cubic", "cubic-no-idle-restart", "bbr", "kk_hybla"]
"#;

/// How far apart the medians may be.
const NEAR: f64 = 0.1;
/// How often it is measured while a path that was not held (something stopped the emulator, or the machine
/// is too busy) makes medians differ.
const TRIES: usize = 4;

#[test]
fn simulator_and_kernel_agree_on_the_median() {
    if !privileged_with_paths() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("scenario.toml");
    fs::write(&file, SCENARIO).unwrap();
    let mut apart = Vec::new();
    for _ in 0..TRIES {
        let cells = cells(directory.path(), &file);
        assert_eq!(cells.len(), 2 * 4);
        apart = cells.into_iter().filter(|cell| !is_near(cell)).collect();
        if apart.is_empty() {
            return;
        }
        assert!(apart.iter().all(|cell| cell["held"] == false), "{apart:#?}");
    }
    panic!("in each of {TRIES} runs paths were not held and medians differed: {apart:#?}");
}

fn cells(directory: &Path, file: &Path) -> Vec<Value> {
    let output = kirikae()
        .args(["validate", "--json", "--output"])
        .args([directory, file])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    // 1: less than 90 % of the cells agree in mean and tail, which a busy machine alone can cause.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{error}");
    assert!(error.contains("Records: "), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn is_near(cell: &Value) -> bool {
    assert_eq!(cell["n"], 30, "{cell:#}");
    (cell["p50_ratio"].as_f64().unwrap() - 1.0).abs() < NEAR
}
