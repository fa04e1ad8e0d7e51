//! `kirikae support` tells what the running kernel allows, to root and to others.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use serde_json::Value;

use common::{kirikae, privileged};

const NOBODY: u32 = 65534;

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn state<'a>(support: &'a Value, name: &str) -> &'a str {
    let features = support["features"].as_array().unwrap();
    let feature = features.iter().find(|feature| feature["name"] == name);
    feature.unwrap_or_else(|| panic!("{name} in {support}"))["state"].as_str().unwrap()
}

#[test]
fn root_is_told_whether_run_can_work() {
    if !privileged() {
        return;
    }
    let output = kirikae().args(["support", "--json"]).output().unwrap();
    let support = json(&output);
    assert_eq!(output.status.code(), Some(0), "{support}");
    assert!(support["refusal"].is_null(), "{support}");
    for name in ["root", "BTF", "cgroup v2", "switcher", "restorer", "candidates"] {
        assert_eq!(state(&support, name), "present", "{name}");
    }
    for name in ["shorter timeouts", "timeouts read", "bounded back-off", "adoption"] {
        assert_ne!(state(&support, name), "unknown", "{name} was tried");
    }
    let table = kirikae().arg("support").output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("CAP_SYS_ADMIN") && table.contains("can work here"), "{table}");
}

#[test]
fn others_are_told_what_could_not_be_looked_at() {
    // The user nobody may not enter the target directory.
    let directory = std::env::temp_dir().join(format!("kirikae-support-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let binary = directory.join("kirikae");
    // fs::copy cannot be used; refusals.rs says why.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_kirikae")).arg(&binary).status();
    assert!(copied.unwrap().success());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(arguments).current_dir("/");
        if nix::unistd::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().unwrap()
    };
    let output = run(&["support", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let support = json(&output);
    assert!(support["refusal"].as_str().unwrap().contains("root"), "{support}");
    assert_eq!(state(&support, "root"), "missing");
    for name in ["switcher", "restorer", "candidates", "adoption"] {
        assert_eq!(state(&support, name), "unknown", "{name}");
    }
    if fs::exists("/sys/kernel/btf/vmlinux").unwrap() {
        assert_ne!(state(&support, "cong_control"), "unknown", "everyone may read BTF");
    }
    let table = String::from_utf8(run(&["support"]).stdout).unwrap();
    assert!(table.contains("takes root to try") && table.contains("cannot work here"), "{table}");
    fs::remove_dir_all(directory).unwrap();
}
