//! Bad input: one error that names file, line, key and what is allowed; exit status 2; nothing
//! created. A host that lacks something: exit status 3.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use common::lab;

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
    let output = lab().arg("bench").arg(&file).arg("--output").arg(&results).output().unwrap();
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
    let output = lab().args(["bench", "/nonexistent/scenario.toml"]).output().unwrap();
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
        let done = lab().arg("sim").arg(&file).arg(option).arg(&output).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{option}: {}", error(&done));
        let message = error(&done);
        assert!(
            message.starts_with("kirikae-lab: making ") && message.lines().count() == 1,
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
        let output = lab().arg("validate").arg(&file).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", error(&output));
        assert!(error(&output).contains(allowed), "{arguments:?}: {}", error(&output));
        assert!(output.stdout.is_empty());
    };
    let records = records.to_str().unwrap();
    refused(&["--at-once", "0"], "--at-once");
    refused(&["--recorded", records, "--output", records], "--output");
    refused(&["--recorded", records], "run.json: No such file");
    let sim = lab().arg("sim").arg(&file).args(["--output", records]).output().unwrap();
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
        let mut command = lab();
        command.args(["sim"]).args(json).arg(&file).stdout(writer);
        let done = command.output().unwrap();
        assert_eq!((done.status.code(), error(&done)), (Some(128 + 13), String::new()));
    }
    fs::remove_dir_all(directory).unwrap();
}

/// Drops root for the child, where we have it; elsewhere the test itself is without it.
#[test]
fn not_root() {
    let directory = temporary("not-root");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let binary = directory.join("kirikae-lab");
    // Not fs::copy: a child that another test forks at that moment would hold the file open for
    // writing, and it could not be run.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_kirikae-lab")).arg(&binary).status();
    assert!(copied.unwrap().success());
    let scenario = directory.join("scenario.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    let mut command = Command::new(&binary);
    command.arg("bench").arg(&scenario).current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", error(&output));
    assert!(error(&output).contains("root"), "{}", error(&output));
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn unknown_study() {
    let output = lab().args(["reproduce", "nothing"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("nothing") && message.contains("thesis-tables"), "{message}");
}

#[test]
fn study_that_had_another_name() {
    let output = lab().args(["reproduce", "rtcp-tables"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("rtcp-tables") && message.contains("called thesis-tables now"),
        "{message}"
    );
    let help = lab().args(["reproduce", "--help"]).output().unwrap();
    assert!(!String::from_utf8(help.stdout).unwrap().contains("rtcp"), "old names are not offered");
}

#[test]
fn study_whose_files_are_not_there() {
    let directory = temporary("no-studies");
    let output = lab().args(["reproduce", "--from"]).arg(&directory).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("thesis-tables/study.toml"), "{message}");
    fs::remove_dir_all(directory).unwrap();
}
