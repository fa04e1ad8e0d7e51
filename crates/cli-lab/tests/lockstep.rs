//! The switcher in the kernel beside that of the native build, call by call (docs/lockstep.md).

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use common::{lab, privileged_with_paths};

/// Bursts that lose now and then, over a round trip short enough for many calls in a few seconds, and
/// bulk beside them.
const SCENARIO: &str = r#"
title = "Bursts and bulk"
seed = 5
[sim]
duration = "12 s"
[[link]]
name = "shared"
[[link.forward]]
element = "loss"
probability = 0.01
[[link.forward]]
element = "rate"
rate = "20 Mbit/s"
queue = "50 packets"
[[link.forward]]
element = "delay"
delay = "5 ms"
[[link.backward]]
element = "delay"
delay = "5 ms"
[[flow]]
name = "bursts"
route = ["shared"]
count = 3
[flow.workload]
burst = "32 KiB"
interval = "300 ms"
count = 30
[[flow]]
name = "bulk"
route = ["shared"]
[flow.workload]
kind = "bulk"
bytes = "unlimited"
[bench]
contenders = ["kirikae"]
"#;

fn json(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"))
}

fn replay(file: &Path) -> Output {
    lab().args(["replay", "--json"]).arg(file).output().unwrap()
}

#[test]
fn kernel_and_native_build_decide_the_same_call_by_call() {
    if !privileged_with_paths() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (file, recording) =
        (directory.path().join("scenario.toml"), directory.path().join("calls"));
    fs::write(&file, SCENARIO).unwrap();
    let output = lab()
        .args(["lockstep", "--json", "--reload-every", "2s", "--output"])
        .arg(directory.path())
        .arg("--keep")
        .args([&recording, &file])
        .output()
        .unwrap();
    let found = json(&output);
    assert_eq!(found["differing"], 0, "{found:#}");
    assert_eq!(output.status.code(), Some(0), "{found:#}");
    assert!(found["compared"].as_u64().unwrap() > 500, "{found:#}");
    assert!(found["switches"].as_u64().unwrap() > 4, "{found:#}");
    assert!(found["policies"].as_u64().unwrap() > 2, "{found:#}");
    let kinds = found["by_kind"].as_object().unwrap();
    for kind in ["established", "round trip", "retransmission", "segment"] {
        assert!(kinds.contains_key(kind), "no {kind}: {found:#}");
    }

    // The same calls once more, without the kernel.
    let again = replay(&recording);
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(json(&again)["compared"], found["compared"]);
    a_difference_is_found(&recording);
    another_version_is_refused(&recording);
}

/// The replay has the servers' choice alone.
#[test]
fn a_choice_that_servers_do_not_make_is_refused() {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/shallow.toml");
    let output =
        lab().args(["lockstep", scenario, "--contenders", "cubic,r-tcp"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("r-tcp: its calls are not played again"), "{message}");
}

/// What the kernel is said to have seen is not what came of it any more.
fn a_difference_is_found(recording: &Path) {
    let mut bytes = fs::read(recording).unwrap();
    let end = bytes.len();
    // The last bytes are of the last call: what was remembered after it.
    for byte in &mut bytes[end - 400..end - 300] {
        *byte ^= 0x55;
    }
    fs::write(recording, &bytes).unwrap();
    let output = replay(recording);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json(&output)["differing"], 1);
}

fn another_version_is_refused(recording: &Path) {
    let mut bytes = fs::read(recording).unwrap();
    let version = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    bytes[version] ^= 0x40;
    fs::write(recording, &bytes).unwrap();
    let output = replay(recording);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("of version") && error.contains("allowed: version"), "{error}");
    fs::write(recording, b"title = \"a scenario\"").unwrap();
    let output = replay(recording);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("another kind of file; allowed: a recording"), "{error}");
}
