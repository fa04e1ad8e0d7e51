//! `kirikae-lab emulate` keeps a path up until it is asked to end, and leaves nothing behind.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use kirikae_checks::{Need, can_run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use common::lab;

const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");

#[test]
fn packets_pass_until_it_is_asked_to_end() {
    if !can_run(&[Need::Root, Need::Tun]) {
        return;
    }
    let mut child = lab()
        .arg("emulate")
        .arg(format!("{SCENARIOS}/long-clean.toml"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut end = || {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let (name, address) = line.trim().split_once(' ').unwrap();
        (name.to_owned(), address.to_owned())
    };
    let ((sender, _), (receiver, address)) = (end(), end());
    let path = |name: &str| Path::new("/run/netns").join(name);
    assert!(path(&sender).exists() && path(&receiver).exists());
    let connected = Command::new("ip")
        .args(["netns", "exec", &sender, "bash", "-c"])
        // Refused, and so by the other end.
        .arg(format!("exec 3<>/dev/tcp/{address}/9"))
        .output()
        .unwrap();
    let says = String::from_utf8_lossy(&connected.stderr).into_owned();
    assert!(says.contains("refused"), "{says}");

    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let mut report = String::new();
    out.read_to_string(&mut report).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{report}");
    assert!(report.contains("forward: 1 packets") && report.contains("backward: 1"), "{report}");
    assert!(!path(&sender).exists() && !path(&receiver).exists());
}

#[test]
fn what_is_no_single_path_is_refused() {
    for scenario in ["dumbbell.toml", "timeouts/bursts.toml"] {
        let scenario = format!("{SCENARIOS}/{scenario}");
        let output = lab().arg("emulate").arg(&scenario).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&scenario) && message.contains("allowed"), "{message}");
    }
}
