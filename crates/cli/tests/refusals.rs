//! Bad input: one error that names file, line, key and what is allowed; exit status 2; nothing
//! created. A host that lacks something: exit status 3.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use common::kirikae;

const SCENARIO: &str = include_str!("../../../scenarios/long-isolated-1.toml");
const NOBODY: u32 = 65534;

fn temporary(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("kirikae-{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// Benches a scenario with one thing replaced; gives what it printed as an error.
fn refused(name: &str, good: &str, bad: &str) -> String {
    assert!(SCENARIO.contains(good), "the scenario has {good}");
    let directory = temporary(name);
    let file = directory.join("scenario.toml");
    fs::write(&file, SCENARIO.replacen(good, bad, 1)).unwrap();
    let results = directory.join("results");
    let output = kirikae().arg("bench").arg(&file).arg("--output").arg(&results).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    assert!(!results.exists(), "nothing is created");
    assert!(message.contains(&file.display().to_string()), "names the file: {message}");
    let line = 1 + SCENARIO[..SCENARIO.find(good).unwrap()].matches('\n').count();
    assert!(message.contains(&format!(":{line}")), "names line {line}: {message}");
    fs::remove_dir_all(directory).unwrap();
    message
}

#[test]
fn unknown_key() {
    let message = refused("unknown-key", "count = 75", "number = 75");
    assert!(message.contains("number") && message.contains("count"), "{message}");
}

#[test]
fn wrong_unit() {
    let message = refused("wrong-unit", "\"10 Mbit/s\"", "\"10 ms\"");
    assert!(message.contains("rate") && message.contains("bit/s"), "{message}");
}

#[test]
fn impossible_values() {
    let message = refused("loss", "probability = 0.01", "probability = 1.5");
    assert!(message.contains("probability") && message.contains('1'), "{message}");
    let message = refused("rate", "\"10 Mbit/s\"", "\"0 Mbit/s\"");
    assert!(message.contains("rate"), "{message}");
    let message = refused("delay", "\"100 ms\"", "\"-100 ms\"");
    assert!(message.contains("delay"), "{message}");
}

#[test]
fn unknown_contender() {
    let message = refused("contender", "\"kk_hybla\"", "\"kk_hyblo\"");
    assert!(message.contains("kk_hyblo") && message.contains("kk_hybla"), "{message}");
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn scenario_file_that_is_not_there() {
    let output = kirikae().args(["bench", "/nonexistent/scenario.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", error(&output));
    assert!(error(&output).contains("/nonexistent/scenario.toml"));
}

#[test]
fn output_that_is_no_directory() {
    let directory = temporary("output");
    let (file, output) = (directory.join("scenario.toml"), directory.join("file"));
    fs::write(&file, SCENARIO).unwrap();
    fs::write(&output, "").unwrap();
    for option in ["--output", "--pcapng", "--trace", "--plot"] {
        let done = kirikae().arg("sim").arg(&file).arg(option).arg(&output).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{option}: {}", error(&done));
        let message = error(&done);
        assert!(
            message.starts_with("kirikae: making ") && message.lines().count() == 1,
            "{message}"
        );
        assert_eq!(message.matches("os error").count(), 1, "{message}");
        assert!(done.stdout.is_empty());
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn validations_that_cannot_be() {
    let directory = temporary("validate");
    let (file, records) = (directory.join("scenario.toml"), directory.join("records"));
    fs::write(&file, SCENARIO).unwrap();
    let refused = |arguments: &[&str], allowed: &str| {
        let output = kirikae().arg("validate").arg(&file).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", error(&output));
        assert!(error(&output).contains(allowed), "{arguments:?}: {}", error(&output));
        assert!(output.stdout.is_empty());
    };
    let records = records.to_str().unwrap();
    refused(&["--at-once", "0"], "--at-once");
    refused(&["--recorded", records, "--output", records], "--output");
    refused(&["--recorded", records], "run.json: No such file");
    let sim = kirikae().arg("sim").arg(&file).args(["--output", records]).output().unwrap();
    assert_eq!(sim.status.code(), Some(0), "{}", error(&sim));
    let run = fs::read_dir(records).unwrap().next().unwrap().unwrap().path();
    refused(&["--recorded", run.to_str().unwrap()], "clock: found virtual; allowed: real");
    refused(&[file.to_str().unwrap()], "title: found ");
    let simulated = format!("{SCENARIO}\n[stack]\nprofile = \"linux-2.6.33\"\n");
    fs::write(&file, simulated).unwrap();
    refused(&["--recorded", records], "stack: found [stack]; allowed: none but receive-buffer");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn nobody_who_reads_on() {
    let directory = temporary("pipe");
    let file = directory.join("scenario.toml");
    fs::write(&file, SCENARIO).unwrap();
    for json in [None, Some("--json")] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = kirikae();
        command.args(["sim"]).args(json).arg(&file).stdout(writer);
        let done = command.output().unwrap();
        assert_eq!((done.status.code(), error(&done)), (Some(128 + 13), String::new()));
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn period_out_of_range() {
    let output = kirikae().args(["run", "--period", "0ms"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).contains("round-trip"), "says what is allowed: {}", error(&output));
}

#[test]
fn parameters_that_cannot_be_set() {
    for (setting, allowed) in [
        ("kk_hybla.rtt0_us", "ALGORITHM.PARAMETER=VALUE"),
        ("kk_hybla.rtt0_us=fast", "ALGORITHM.PARAMETER=VALUE"),
        ("kk_hyblo.rtt0_us=25000", "kk_hybla"),
        ("kk_hybla.rtt0=25000", "rtt0_us"),
        ("kk_hybla.rtt0_us=0", "1000 to 1000000"),
        ("kk_hybla.rtt0_us=4294967296", "1000 to 1000000"),
        ("kk_hybla.rtt0_us=99999999999999999999", "1000 to 1000000"),
        ("kk_hybla.rtt0_us=", "ALGORITHM.PARAMETER=VALUE"),
        ("kk_scalable.rtt0_us=25000", "allowed: idle_keep"),
    ] {
        let output = kirikae().args(["run", "--set", setting]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{setting}");
        assert!(error(&output).contains(allowed), "{setting}: {}", error(&output));
    }
}

#[test]
fn cgroup_that_is_none() {
    for directory in ["/nonexistent", "/tmp"] {
        let output = kirikae().args(["run", "--cgroup", directory]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(error(&output).contains("cgroup v2"), "says what is allowed: {}", error(&output));
    }
}

/// Drops root for the child, where we have it; elsewhere the test itself is without it.
#[test]
fn not_root() {
    let directory = temporary("not-root");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let binary = directory.join("kirikae");
    // Not fs::copy: a child that another test forks at that moment would hold the file open for
    // writing, and it could not be run.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_kirikae")).arg(&binary).status();
    assert!(copied.unwrap().success());
    let scenario = directory.join("scenario.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    for arguments in [vec!["run"], vec!["bench", scenario.to_str().unwrap()]] {
        let mut command = Command::new(&binary);
        command.args(&arguments).current_dir("/");
        if nix::unistd::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", error(&output));
        assert!(error(&output).contains("root"), "{arguments:?}: {}", error(&output));
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn unknown_study() {
    let output = kirikae().args(["reproduce", "nothing"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("nothing") && message.contains("rtcp-tables"), "{message}");
}

#[test]
fn study_whose_files_are_not_there() {
    let directory = temporary("no-studies");
    let output = kirikae().args(["reproduce", "--from"]).arg(&directory).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("rtcp-tables/isolated.toml"), "{message}");
    fs::remove_dir_all(directory).unwrap();
}
