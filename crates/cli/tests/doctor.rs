//! Tests the doctor on hosts with unusual settings: network namespaces with other sysctls.

mod common;

use std::net::TcpListener;
use std::process::{Command, Output};

use kirikae_emu::{Emulated, Namespace};
use kirikae_path::{ElementSpec, PathSpec, Span};
use serde_json::Value;

use common::{kirikae, privileged};

fn path() -> Emulated {
    let delay = || vec![ElementSpec::Delay { delay: Span::from_millis(40) }];
    Emulated::create(&PathSpec { forward: delay(), backward: delay() }, 1, "doctor").unwrap()
}

fn doctor(on: &Namespace, arguments: &[&str]) -> Output {
    let mut command = kirikae();
    command.arg("doctor").args(arguments);
    on.run_in(move || command.output()).unwrap().unwrap()
}

/// The report, and its exit status.
#[track_caller]
fn report(on: &Namespace, arguments: &[&str]) -> (Value, i32) {
    let output = doctor(on, &[arguments, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    (report, output.status.code().unwrap())
}

fn finding<'a>(report: &'a Value, name: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["name"] == name).unwrap()
}

#[test]
fn without_a_terminal_the_table_is_a_hundred_columns_wide() {
    let output = kirikae().args(["doctor", "--rtt", "200ms"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let table: Vec<&str> = text.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    assert!(table.len() > 20, "{text}");
    assert!(table.iter().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_small_send_buffer_is_found_and_its_cure_helps() {
    if !privileged() {
        return;
    }
    let path = path();
    let host = path.sender();
    for (name, value) in [
        ("net.ipv4.tcp_wmem", "4096 16384 1048576"),
        ("net.ipv4.tcp_rmem", "4096 131072 33554432"),
        ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ] {
        host.set_sysctl(name, value).unwrap();
    }
    let asked = ["--rate", "100", "--rtt", "200ms"];
    let (before, status) = report(host, &asked);
    let send = finding(&before, "send-buffer");
    assert_eq!((send["verdict"].as_str(), status), (Some("limits"), 1));
    let throughput = send["limit"]["throughput"].as_f64().unwrap();
    assert!((throughput - 1_048_576.0 * 8.0 / 0.2).abs() < 1.0, "{throughput}");
    assert_eq!(finding(&before, "queue")["verdict"], "unknown", "there is no default route");

    // The value that it says to write, without the command.
    let change = send["change"][0].as_str().unwrap();
    let (name, value) = change.strip_prefix("sysctl -w ").unwrap().split_once('=').unwrap();
    host.set_sysctl(name, value.trim_matches('"')).unwrap();
    let (after, status) = report(host, &asked);
    assert_eq!(finding(&after, "send-buffer")["verdict"], "fine");
    assert_eq!(status, 0, "{after:#}");

    for (name, value, found) in [
        ("net.ipv4.tcp_window_scaling", "0", "window-scaling"),
        ("net.ipv4.tcp_sack", "0", "sack"),
        ("net.ipv4.tcp_moderate_rcvbuf", "0", "receive-buffer"),
        ("net.ipv4.tcp_timestamps", "0", "timestamps"),
    ] {
        host.set_sysctl(name, value).unwrap();
        let (report, status) = report(host, &["--rate", "1000", "--rtt", "200ms"]);
        assert_eq!((finding(&report, found)["verdict"].as_str(), status), (Some("limits"), 1));
        host.set_sysctl(name, "1").unwrap();
    }
    path.finish().unwrap();
}

#[test]
fn a_destination_is_looked_at() {
    if !privileged() {
        return;
    }
    let path = path();
    let address = path.receiver().address();
    let listener = path.receiver().run_in(|| TcpListener::bind((address, 5000))).unwrap().unwrap();
    let (seen, _) = report(path.sender(), &[&format!("{address}:5000")]);
    let rtt = seen["path"]["rtt"]["value"].as_f64().unwrap();
    // It is never less than the path's RTT; if it were much more, it would be that of another path.
    assert!((0.08..0.2).contains(&rtt), "{rtt}");
    assert_eq!(seen["path"]["rtt"]["source"], "measured");
    assert_eq!(seen["connections"].as_array().unwrap().len(), 1);
    assert_eq!(seen["host"]["route"]["interface"]["name"], "kirikae0");
    assert_eq!(finding(&seen, "mtu")["measured"], "1500 B on kirikae0");
    assert!(finding(&seen, "peer-window")["measured"].as_str().unwrap().contains("SACK"));

    // Without a port it looks at the existing connections, and sends nothing.
    let open = path.sender().run_in(|| std::net::TcpStream::connect((address, 5000)));
    let _open = open.unwrap().unwrap();
    let (seen, _) = report(path.sender(), &[&address.to_string()]);
    assert_eq!(seen["connections"].as_array().unwrap().len(), 1);

    drop(listener);
    let refused = doctor(path.sender(), &[&format!("{address}:5001")]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains(":5001: does not answer"), "{message}");
    path.finish().unwrap();
}

#[test]
fn a_destination_without_a_route_is_told() {
    if !privileged() {
        return;
    }
    let path = path();
    let host = path.sender();
    let told = |arguments: &[&str]| {
        let output = doctor(host, arguments);
        (String::from_utf8(output.stderr).unwrap(), output.status.code())
    };
    let (why, status) = told(&["192.0.2.1", "--rtt", "200ms"]);
    assert!(why.contains("192.0.2.1: there is no route"), "{why}");
    assert_eq!(status, Some(2));
    for kind in ["prohibit", "blackhole", "unreachable"] {
        let mut route = Command::new("ip");
        route.args(["route", "replace", kind, "192.0.2.2"]);
        assert!(host.run_in(move || route.status()).unwrap().unwrap().success());
        let (why, status) = told(&["192.0.2.2", "--rtt", "200ms"]);
        assert!(why.contains("192.0.2.2: there is no route"), "{kind}: {why}");
        assert_eq!(status, Some(2), "{kind}");
    }
    path.finish().unwrap();
}

#[test]
fn the_host_is_examined_without_privileges() {
    let output = kirikae().args(["doctor", "--rtt", "200ms", "--loss", "1%"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{text}");
    for said in ["Path: 100 Mbit/s (assumed), RTT 200 ms, loss 1 %", "send-buffer", "RFC 7323"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "colour is for terminals");
}

#[test]
fn what_is_no_destination_is_refused() {
    for (argument, allowed) in [("http://host", "HOST:PORT"), ("host:0", "HOST:PORT")] {
        let output = kirikae().args(["doctor", argument]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(allowed), "{message}");
    }
}
