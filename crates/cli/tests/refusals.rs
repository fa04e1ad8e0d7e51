//! Tests bad input: there is one error that says what is allowed, exit status 2, and nothing is created. If
//! the host lacks something, the exit status is 3.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use common::kirikae;

const NOBODY: u32 = 65534;

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
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

/// Tells which commands are the laboratory's now, and the new name of an option.
#[test]
fn what_was_called_otherwise_is_told() {
    for command in [
        "bench",
        "characterize",
        "emulate",
        "fit",
        "lockstep",
        "replay",
        "reproduce",
        "search",
        "sim",
        "validate",
    ] {
        let output = kirikae().args([command, "--help"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let wanted =
            format!("kirikae: {command} is a command of kirikae-lab now: kirikae-lab {command}\n");
        assert_eq!(error(&output), wanted);
    }
    let output = kirikae().args(["explain", "100ms", "--policy", "fast"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).contains("--policy is called --friendliness now"), "{}", error(&output));
}

/// Drops root for the child if we have it; otherwise the test itself runs without it.
#[test]
fn not_root() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let binary = directory.path().join("kirikae");
    // fs::copy cannot be used: a child that another test forks at that moment would hold the file open for
    // writing, and it could not be run.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_kirikae")).arg(&binary).status();
    assert!(copied.unwrap().success());
    let mut command = Command::new(&binary);
    command.arg("run").current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", error(&output));
    assert!(error(&output).contains("root"), "{}", error(&output));
}
