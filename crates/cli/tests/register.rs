//! `kirikae algorithms --register`: algorithms for programs and the sysctl, with nothing switched.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::mpsc;
use std::thread;

use kirikae_agent::{Agent, Config, DEFAULT_PATHS, Pinning, candidates};
use kirikae_policy::{Policy, Scope};
use nix::sched::{CloneFlags, unshare};
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use common::{OwnCgroup, kirikae, privileged};

fn algorithms(arguments: &[&str]) -> Output {
    kirikae().arg("algorithms").args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn done(arguments: &[&str]) -> String {
    let output = algorithms(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    said(&output)
}

fn refused(arguments: &[&str], status: i32) -> String {
    let output = algorithms(arguments);
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    said(&output)
}

fn available(name: &str) -> bool {
    let available = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    fs::read_to_string(available).unwrap().split_whitespace().any(|it| it == name)
}

fn is_listed_for_programs(name: &str) -> bool {
    let listed = algorithms(&["--json"]).stdout;
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    let mut entries = listed.as_array().unwrap().iter();
    entries.find(|entry| entry["name"] == name).unwrap()["registered_for_programs"] == true
}

#[test]
fn algorithms_are_there_for_programs_until_they_are_taken_away() {
    if !privileged() {
        return;
    }
    done(&["--register", "kk_bic,kk_hybla", "--set", "kk_bic.beta_1000=900"]);
    assert!(available("kk_bic") && available("kk_hybla") && is_listed_for_programs("kk_hybla"));
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_tcp_congestion(b"kk_bic").unwrap();
    drop(socket);
    let taken = refused(&["--register", "kk_vegas,kk_bic"], 1);
    assert!(taken.contains("kk_bic") && taken.contains("--unregister"), "{taken}");
    assert!(!available("kk_vegas"), "all or none");

    // An agent beside it uses what is there, and leaves it.
    let cgroup = OwnCgroup::enter();
    let scope = Scope::new(kirikae_table::shipped().kernel_table().into());
    let config = Config {
        cgroup: cgroup.path.clone(),
        algorithms: candidates(&scope).unwrap(),
        policy: Policy::one(scope),
        adopt: None,
        pinning: Pinning::Pinned,
        paths: DEFAULT_PATHS,
        are_calls_recorded: false,
    };
    let agent = Agent::start(&config).unwrap();
    let others = refused(&["--register", "kk_cubic"], 1);
    assert!(others.contains("a running kirikae"), "{others}");
    agent.stop().unwrap();
    assert!(available("kk_hybla") && !available("kk_cubic"));

    assert!(done(&["--unregister", "kk_bic,kk_bic"]).contains("kk_bic"));
    assert!(!available("kk_bic") && available("kk_hybla"));
    assert!(refused(&["--unregister", "kk_bic"], 1).contains("kk_hybla"));
    done(&["--unregister"]);
    assert!(!available("kk_hybla"));
    for directory in ["/sys/fs/bpf/kirikae-algorithms", "/run/kirikae-algorithms"] {
        assert!(!Path::new(directory).exists(), "{directory}");
    }
    assert!(done(&["--unregister"]).contains("nothing is registered"));
    a_default_is_told_of();
}

/// The kernel keeps for a network namespace what is its default.
fn a_default_is_told_of() {
    done(&["--register", "kk_bic"]);
    let (asked, ask) = mpsc::channel();
    let (answer, answered) = mpsc::channel::<()>();
    let inside = thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        let default = "/proc/sys/net/ipv4/tcp_congestion_control";
        asked.send(fs::write(default, "kk_bic")).unwrap();
        // Until the other end is dropped.
        let _ = answered.recv();
    });
    ask.recv().unwrap().unwrap();
    let told = done(&["--unregister"]);
    drop(answer);
    inside.join().unwrap();
    assert!(told.contains("still gives kk_bic to new connections"), "{told}");
    assert!(told.contains(&format!("of process {} ", std::process::id())), "{told}");
}

#[test]
fn what_cannot_be_registered_is_refused() {
    let unknown = refused(&["--register", "bbr"], 2);
    assert!(unknown.contains("kk_bbr3"), "{unknown}");
    let other = refused(&["--register", "kk_bic", "--set", "kk_hybla.rtt0_us=50000"], 2);
    assert!(other.contains("kk_hybla") && other.contains("kk_bic"), "{other}");
}
