//! The search from the command line: exit statuses, refusals, what it writes, and being ended early.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use common::{lab, wait_for_handler};

/// It searches in `directory`, on so many threads.
fn search(directory: &Path, threads: &str, arguments: &[&str]) -> Output {
    let mut command = lab();
    command.current_dir(directory).env("RAYON_NUM_THREADS", threads).arg("search").args(arguments);
    command.output().unwrap()
}

#[track_caller]
fn text(output: &Output, status: i32) -> String {
    let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{text}");
    text
}

#[test]
fn one_path_is_written_and_played() {
    let directory = tempfile::tempdir().unwrap();
    let path = text(&search(directory.path(), "1", &["--seed", "3", "--only", "5"]), 0);
    fs::write(directory.path().join("path.toml"), &path).unwrap();
    let mut sim = lab();
    sim.current_dir(directory.path()).args(["sim", "path.toml"]);
    let played = text(&sim.output().unwrap(), 0);
    assert!(played.contains("cubic") && played.contains("kirikae"), "{played}");
}

#[test]
fn the_status_tells_whether_something_was_found() {
    let directory = tempfile::tempdir().unwrap();
    // Nobody is a hundred times as slow.
    let nothing = ["--count", "20", "--climbs", "0", "--loss", "100"];
    assert!(text(&search(directory.path(), "2", &nothing), 0).contains("No path was found"));
    // The best of several, known afterwards, is better than any choice somewhere.
    let best = "kk_hybla,bbr";
    let arguments =
        ["--count", "6", "--climbs", "0", "--than", best, "--json", "--output", "found"];
    let found = search(directory.path(), "2", &arguments);
    let report: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found.status.code(), Some(1));
    let finds = report["finds"].as_array().unwrap();
    assert!(!finds.is_empty());
    for find in finds {
        let file = directory.path().join(find["file"].as_str().unwrap());
        assert!(fs::read_to_string(file).unwrap().starts_with("# kirikae takes "));
    }
    let again = text(&search(directory.path(), "2", &arguments), 2);
    assert!(again.contains("is not empty") && again.contains("allowed: "), "{again}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (["--loss", "1"], "a number above 1"),
        (["--than", "kirikae"], "any others"),
        (["--than", "cubix"], "cubic"),
        (["--count", "0"], "1..="),
        (["--friendliness", "bold"], "balanced"),
    ] {
        let refused = text(&search(directory.path(), "1", &arguments), 2);
        assert!(refused.contains(told), "{arguments:?}: {refused}");
    }
}

#[test]
fn ended_early_it_reports_what_it_has() {
    let mut command = lab();
    command.args(["search", "--count", "1000000", "--json"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    // How far it comes does not matter.
    wait_for_handler(child.id(), Signal::SIGINT);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["interrupted"], true);
    assert!(report["paths"].as_u64().unwrap() < 1_000_000);
}
