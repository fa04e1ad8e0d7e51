//! Fitting from the command line: what is printed, written and refused.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use common::lab;

const SCENARIO: &str = r#"
title = "Bulk"
seed = 1

[workload]
kind = "bulk"
bytes = "20 MB"

[[path.forward]]
element = "gilbert-elliott"
p = 0.005
r = 0.25
k = 1
h = 0

[[path.backward]]
element = "delay"
delay = "20 ms"

[bench]
contenders = ["bbr"]

[sim]
duration = "60 s"
"#;

fn run(directory: &Path, arguments: &[&str]) -> Output {
    lab().current_dir(directory).args(arguments).output().unwrap()
}

#[track_caller]
fn text(output: &Output, status: i32) -> String {
    let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{text}");
    text
}

#[test]
fn a_capture_becomes_an_element_that_is_simulated_again() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::write(directory.join("bulk.toml"), SCENARIO).unwrap();
    text(&run(directory, &["sim", "bulk.toml", "--pcapng", "."]), 0);
    let capture = "bulk.bbr.server.pcapng";

    let told = text(&run(directory, &["fit", capture, "--plot", "fit.svg"]), 0);
    for said in
        ["captured at the receiver", "Bursts are evident", "simple Gilbert", "chosen", "p 0.00"]
    {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert!(!told.contains('\u{1b}'), "colour is for terminals");
    assert!(
        fs::read_to_string(directory.join("fit.svg")).unwrap().contains("packets lost in a row")
    );
    let element = &told[told.find("[[path.forward]]").unwrap()..];
    let (before, after) = SCENARIO.split_once("[[path.forward]]").unwrap();
    let behind = &after[after.find("[[path.backward]]").unwrap()..];
    fs::write(directory.join("again.toml"), format!("{before}{element}\n{behind}")).unwrap();
    text(&run(directory, &["sim", "again.toml"]), 0);

    let json = run(directory, &["fit", capture, "--json", "--port", "5201", "--at", "receiver"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["fit"]["chosen"]["model"], "simple-gilbert");
    assert_eq!(json["element"], element);
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::write(directory.join("text.pcapng"), SCENARIO).unwrap();
    let lossless = SCENARIO.replace("p = 0.005", "p = 0");
    fs::write(directory.join("bulk.toml"), lossless).unwrap();
    text(&run(directory, &["sim", "bulk.toml", "--pcapng", "."]), 0);
    for (arguments, said) in [
        (&["fit", "none.pcapng"][..], "none.pcapng: No such file"),
        (&["fit", "text.pcapng"], "text.pcapng: no capture; allowed: "),
        (&["fit", "bulk.bbr.client.pcapng"], "too little loss to fit: "),
        (&["fit", "bulk.bbr.client.pcapng", "--port", "80"], "no usable flow with port 80: "),
        (&["fit", "text.pcapng", "--number", "0:8"], "allowed: rtp, iperf2"),
    ] {
        let refused = text(&run(directory, arguments), 2);
        assert!(refused.contains(said), "{arguments:?}: {refused}");
    }
}
