//! Tests a connection whose route locks its algorithm (`ip route ... congctl lock`): the kernel refuses to switch it,
//! which is told, counted, and not tried again.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use kirikae_agent::Treatment;
use kirikae_daemon::client;
use kirikae_daemon::status::Connections;
use nix::sched::{CloneFlags, unshare};

use common::{OwnCgroup, RunningAgent, algorithm, privileged};

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);
/// Where the route locks cubic; the way back from there does not.
const LOCKED: &str = "127.0.0.9";

/// Makes a network namespace for this thread.
fn enter_namespace() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    let lock =
        format!("route replace local {LOCKED} dev lo table local src 127.0.0.1 congctl lock cubic");
    for arguments in ["link set lo up", lock.as_str()] {
        let done = Command::new("ip").args(arguments.split(' ')).status().unwrap();
        assert!(done.success(), "ip {arguments}");
    }
}

/// Sends to and fro until the condition holds.
fn talk_until(what: &str, ends: [&TcpStream; 2], mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        let [near, far] = ends;
        for (mut from, mut to) in [(near, far), (far, near)] {
            from.write_all(&[7; 10_000]).unwrap();
            to.read_exact(&mut [0; 10_000]).unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn treatment(of: &TcpStream) -> Option<Treatment> {
    let (local, remote) = (of.local_addr().unwrap(), of.peer_addr().unwrap());
    let listed: Connections = client::get("/connections").unwrap();
    let mut listed = listed.connections.into_iter();
    listed.find(|it| it.local == local && it.remote == remote).map(|it| it.treatment)
}

fn play(agent: &RunningAgent) {
    enter_namespace();
    let listener = TcpListener::bind((LOCKED, 0)).unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    let ends = [&near, &far];
    talk_until("one end is switched", ends, || algorithm(&far).starts_with("kk_"));
    talk_until("it is told", ends, || agent.told().contains("refuses to switch 1 connections"));
    assert!(agent.told().contains("congctl lock"), "{}", agent.told());
    assert_eq!(algorithm(&near), "cubic");
    assert_eq!(ends.map(treatment), [Some(Treatment::Refused), Some(Treatment::Switched)]);

    // It is not tried again with each choice.
    let until = Instant::now() + Duration::from_secs(1);
    talk_until("a second has passed", ends, || Instant::now() > until);
    let status = agent.status();
    assert_eq!((status.refused.locked_route, status.refused.other), (1, 0));
    assert_eq!(status.by_treatment.get("refused"), Some(&1));
}

#[test]
fn a_locked_route_is_told() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let agent = RunningAgent::start_inside(&cgroup);
    thread::scope(|scope| scope.spawn(|| play(&agent)).join().unwrap());
    agent.stop();
}
