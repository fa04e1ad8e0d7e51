//! The short form of docs/agreement.md: the simulator beside the kernel, on one path with and without
//! loss.

mod common;

use std::fs;

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

#[test]
fn simulator_and_kernel_agree_on_the_median() {
    if !privileged_with_paths() {
        return;
    }
    let directory = std::env::temp_dir().join(format!("kirikae-agreement-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("scenario.toml");
    fs::write(&file, SCENARIO).unwrap();
    let output = kirikae()
        .args(["validate", "--json", "--output"])
        .args([&directory, &file])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    // 1: less than 90 % of the cells agree in mean and tail, which a busy machine alone can cause.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{error}");
    assert!(error.contains("Records: "), "{error}");
    let cells: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = cells.as_array().unwrap();
    assert_eq!(cells.len(), 2 * 4);
    for cell in cells {
        assert_eq!(cell["n"], 30, "{cell:#}");
        let ratio = cell["p50_ratio"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.1, "{cell:#}");
    }
    fs::remove_dir_all(&directory).unwrap();
}
