//! What `kirikae-lab sim` writes beside its table.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use common::lab;

const SCENARIO: &str = include_str!("../../../scenarios/shallow.toml");

/// Simulates a short scenario with two seeds, with these options.
fn sim(directory: &Path, options: &[&str]) -> Output {
    let scenario = SCENARIO.replace("count = ", "count = 5 # ") + "\n[sim]\nrepetitions = 2\n";
    fs::write(directory.join("scenario.toml"), scenario).unwrap();
    lab().current_dir(directory).args(["sim", "scenario.toml"]).args(options).output().unwrap()
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn files_are_the_same_each_time_and_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let write = |to: &str| {
        let options = ["--pcapng", to, "--trace", to, "--trace-format", "parquet", "--plot", to];
        sim(directory.path(), &options)
    };
    let plain = sim(directory.path(), &[]);
    let (first, second) = (write("first"), write("second"));
    for output in [&plain, &first, &second] {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, plain.stdout, "watching changes nothing");
    }
    let written = files(&directory.path().join("first"));
    assert_eq!(written, files(&directory.path().join("second")));
    for kind in ["client.pcapng", "server.pcapng", "parquet", "svg"] {
        for contender in ["cubic", "kirikae"] {
            let ending = format!(".{contender}.2.{kind}");
            let names: Vec<_> = written.keys().filter(|name| name.ends_with(&ending)).collect();
            assert_eq!(names.len(), 1, "{ending}: {:?}", written.keys());
        }
    }
    let svg = written.iter().find(|(name, _)| name.ends_with("kirikae.2.svg")).unwrap().1;
    let svg = String::from_utf8_lossy(svg);
    for said in ["kirikae, seed 2", "cwnd", "ssthresh", "queue, packets", "latency, s", "a switch"]
    {
        assert!(svg.contains(said), "{said}");
    }

    let again = write("first");
    let message = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(2), "{message}");
    assert!(message.contains("first/") && message.contains("never overwritten"), "{message}");
    assert!(again.stdout.is_empty());
    assert_eq!(written, files(&directory.path().join("first")));
}

#[test]
fn a_format_without_a_trace_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let output = sim(directory.path(), &["--trace-format", "csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--trace <DIRECTORY>"));
}
