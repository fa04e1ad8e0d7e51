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

/// What a command says of a policy file with this text.
fn said_of(policy: &str, command: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kirikae.toml");
    fs::write(&file, policy).unwrap();
    kirikae().args(command).arg(&file).output().unwrap()
}

/// What `run` could not use `check` refuses, too, before anything is begun.
#[test]
fn what_the_policy_names_and_this_host_lacks() {
    for (text, told) in [
        ("adopt = ['/run/netns/none-of-that-name']", "1: adopt[0]: found '/run/netns/none-of-that"),
        ("adopt = ['/etc/passwd']", "1: adopt[0]: found '/etc/passwd'; allowed: the file of a net"),
        ("[status]\nreaders = 'group:nobodyhere'", "2: status.readers: found 'group:nobodyhere'"),
    ] {
        for command in [&["check"][..], &["run", "--config"]] {
            let output = said_of(text, command);
            assert_eq!(output.status.code(), Some(2), "{text}: {}", error(&output));
            assert!(error(&output).contains(told), "{text}: {}", error(&output));
        }
    }
}

#[test]
fn what_a_policy_hardly_means_is_warned_of() {
    let root = kirikae_agent::cgroup_root();
    if !kirikae_checks::has(kirikae_checks::Need::Bpf, root.map(drop)) {
        return;
    }
    let (all, vnc) = ("[[scope]]\nname = 'all'\n", "[[scope]]\nname = 'vnc'\nlocal-port = 5900\n");
    // No interface has an address of this prefix (RFC 5737).
    let page = "[status]\npage = '192.0.2.1:8425'\nbeyond-loopback = true\n";
    let checked = said_of(&format!("{page}{all}{vnc}"), &["check"]);
    assert_eq!(checked.status.code(), Some(0), "{}", error(&checked));
    for told in ["no connection reaches scope vnc", "is in all,", "the page cannot be served"] {
        assert!(error(&checked).contains(told), "{told}: {}", error(&checked));
    }
    let checked = said_of(&format!("{vnc}{all}"), &["check"]);
    assert_eq!(error(&checked), "");
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

/// Runs the binary after `prepare`, in namespaces of its own.
fn inside(namespaces: &[&str], prepare: &str, arguments: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_kirikae");
    let script = format!("{prepare} && exec {binary} {arguments}");
    Command::new("unshare").args(namespaces).args(["sh", "-c", &script]).output().unwrap()
}

#[test]
fn what_a_container_lacks_is_called_by_its_name() {
    if !kirikae_checks::can_run(&[kirikae_checks::Need::Root]) {
        return;
    }
    let without_sys = inside(&["-m"], "mount -t tmpfs none /sys", "run");
    assert_eq!(without_sys.status.code(), Some(3), "{}", error(&without_sys));
    assert!(error(&without_sys).contains("/sys is not mounted"), "{}", error(&without_sys));
    let rootless = inside(&["-Ur"], "true", "run");
    assert_eq!(rootless.status.code(), Some(3), "{}", error(&rootless));
    assert!(error(&rootless).contains("user namespace"), "{}", error(&rootless));
}

/// A privileged container may have a cgroup namespace of its own, and switches the connections inside alone.
#[test]
fn a_part_of_the_hosts_cgroups_is_told() {
    if !common::privileged() {
        return;
    }
    let cgroup = common::OwnCgroup::enter();
    let root = kirikae_agent::cgroup_root().unwrap();
    let mounted = format!("umount -l {0} && mount -t cgroup2 none {0}", root.display());
    let check = inside(&["-m", "-C"], &mounted, "check ../../packaging/kirikae.toml");
    assert_eq!(check.status.code(), Some(0), "{}", error(&check));
    assert!(error(&check).contains("not the root of this host's cgroups"), "{}", error(&check));
    drop(cgroup);
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
