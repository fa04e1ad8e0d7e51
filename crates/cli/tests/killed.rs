//! An agent that is killed during a transfer: every byte arrives, the kernel goes on, and
//! `kirikae undo` leaves the machine as it was. Likewise Ctrl-C.
//!
//! It is one test function, since the host can have one agent at a time.

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use kirikae_agent::{DIRECTORY, Feature, FeatureState};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use common::{OwnCgroup, algorithm, host, kirikae, left_since, privileged, ss};

/// Asserts that nothing is there that was not there before.
fn assert_as_before(before: &BTreeSet<String>, what: &str) {
    assert_eq!(left_since(before), [""; 0], "{what}");
}

/// Starts an agent on a cgroup; returns when it switches.
fn start_agent(cgroup: &Path) -> (Child, impl Iterator<Item = io::Result<String>>) {
    let mut child = kirikae()
        .args(["run", "--least-rtt", "0s", "--cgroup"])
        .arg(cgroup)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It says first what it knows of paths from before.
    let mut said = BufReader::new(child.stderr.as_mut().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains("switching")), "it ended");
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

const CHUNK: usize = 50_000;
const CHUNKS: usize = 60;

fn chunk(number: usize) -> Vec<u8> {
    (0..CHUNK).map(|i| (i * 31 + number * 7) as u8).collect()
}

/// Transfers 3 MB in 3 s and checks every byte; `halfway` is called in the middle.
fn transfer(halfway: impl FnOnce(&TcpStream)) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut far = listener.accept().unwrap().0;
    let reader = thread::spawn(move || {
        let mut received = vec![0; CHUNK];
        for number in 0..CHUNKS {
            far.read_exact(&mut received).unwrap();
            assert!(received == chunk(number), "chunk {number} arrived changed");
        }
        far
    });
    let mut halfway = Some(halfway);
    for number in 0..CHUNKS {
        if number == CHUNKS / 2
            && let Some(halfway) = halfway.take()
        {
            halfway(&near);
        }
        near.write_all(&chunk(number)).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    (near, reader.join().unwrap())
}

#[test]
fn killed_agent_harms_no_connection_and_is_undone() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let before = host();
    let original = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    let original = original.trim();

    // The agent is killed in the middle of a transfer.
    let (mut agent, _lines) = start_agent(&cgroup.path);
    let (near, _far) = transfer(|near| {
        assert!(algorithm(near).starts_with("kk_"));
        assert!(ss(near).contains("kk_"), "{}", ss(near));
        agent.kill().unwrap();
        agent.wait().unwrap();
    });
    assert!(algorithm(&near).starts_with("kk_"), "the kernel goes on without the agent");
    assert!(host().difference(&before).count() > 10, "there is something to undo");
    let undone = kirikae().arg("undo").output().unwrap();
    let message = String::from_utf8_lossy(&undone.stderr).into_owned();
    assert_eq!(undone.status.code(), Some(0), "{message}");
    assert_eq!(algorithm(&near), original, "{message}");
    assert!(ss(&near).contains(original) && !ss(&near).contains("kk_"), "{}", ss(&near));
    assert_as_before(&before, "after undo");
    let again = kirikae().arg("undo").output().unwrap();
    assert_eq!(again.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&again.stderr).contains("nothing to undo"));

    // It is killed, and another agent follows. That cleans up before it starts, and from Linux 6.12 on takes
    // in again the connections that are open.
    let (mut agent, _lines) = start_agent(&cgroup.path);
    let (mut near, mut far) = transfer(|_| {});
    assert!(algorithm(&near).starts_with("kk_"));
    agent.kill().unwrap();
    agent.wait().unwrap();
    let (agent, lines) = start_agent(&cgroup.path);
    let support = kirikae_agent::support().unwrap();
    let is_adoption = |it: &Feature| it.name == "adoption" && it.state == FeatureState::Present;
    if support.features.iter().any(is_adoption) {
        assert_eq!(algorithm(&near), original);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !algorithm(&near).starts_with("kk_") {
            assert!(Instant::now() < deadline, "taken in, and not switched");
            near.write_all(&[7; 1000]).unwrap();
            far.read_exact(&mut [0; 1000]).unwrap();
            thread::sleep(Duration::from_millis(10));
        }
    }

    // There can be one agent at a time, and `undo` refuses while an agent lives.
    for command in ["run", "undo"] {
        let refused = kirikae().arg(command).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{command}");
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(message.contains("another kirikae agent is running"), "{command}: {message}");
    }

    // The agent is asked to stop: it has printed what it did, and restores everything.
    stops_on(Signal::SIGTERM, agent, lines, original, &before);
    let (agent, lines) = start_agent(&cgroup.path);
    stops_on(Signal::SIGINT, agent, lines, original, &before);
    let (agent, lines) = start_agent(&cgroup.path);
    stops_on(Signal::SIGHUP, agent, lines, original, &before);

    connections_begun_meanwhile(&cgroup.path);
    directory_that_systemd_made();
}

/// While `undo` works, programs go on connecting: none of their connections is left on ours.
fn connections_begun_meanwhile(cgroup: &Path) {
    let (mut agent, _lines) = start_agent(cgroup);
    agent.kill().unwrap();
    agent.wait().unwrap();
    let (begun, is_done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let pairs = thread::scope(|scope| {
        let program = scope.spawn(|| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut pairs = Vec::new();
            while !is_done.load(Ordering::SeqCst) {
                let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let mut far = listener.accept().unwrap().0;
                (0..TALKS).for_each(|_| talk(&mut near, &mut far));
                pairs.push((near, far));
                begun.fetch_add(1, Ordering::SeqCst);
                // All of them stay open, and the process may have 1024 files.
                thread::sleep(Duration::from_millis(10));
            }
            pairs
        });
        // A program that has failed begins none; joining it says why.
        let wait_for = |count| {
            while begun.load(Ordering::SeqCst) < count && !program.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
        };
        wait_for(30);
        let undone = kirikae().arg("undo").output().unwrap();
        wait_for(begun.load(Ordering::SeqCst) + 10);
        is_done.store(true, Ordering::SeqCst);
        assert!(undone.status.success());
        let said = String::from_utf8_lossy(&undone.stderr).into_owned();
        assert!(!said.contains(" 0 connections restored"), "{said}");
        program.join().unwrap()
    });
    let left = pairs.iter().filter(|(near, _)| algorithm(near).starts_with("kk_")).count();
    assert_eq!(left, 0, "of {} connections", pairs.len());
}

/// How often a connection is written to: often enough for it to be switched.
const TALKS: usize = 10;

fn talk(near: &mut TcpStream, far: &mut TcpStream) {
    let mut received = [0; 1000];
    near.write_all(&received).unwrap();
    far.read_exact(&mut received).unwrap();
}

/// For a service the agent's directory is a mount, which cannot be removed: it is emptied, and says nothing then.
fn directory_that_systemd_made() {
    let undo = |mount: &str| {
        let script = format!("{mount} && exec \"$0\" undo");
        let program = kirikae();
        let unshared = ["--mount", "sh", "-c", &script];
        let undone = Command::new("unshare").args(unshared).arg(program.get_program()).output();
        let undone = undone.unwrap();
        let message = String::from_utf8_lossy(&undone.stderr).into_owned();
        assert_eq!(undone.status.code(), Some(0), "{message}");
        message
    };
    let mount = format!("mount --bind {DIRECTORY} {DIRECTORY}");
    fs::create_dir(DIRECTORY).unwrap();
    fs::write(Path::new(DIRECTORY).join("control"), "").unwrap();
    assert!(undo(&mount).contains("0 connections restored"));
    assert!(undo(&mount).contains("nothing to undo"));
    assert_eq!(fs::read_dir(DIRECTORY).unwrap().count(), 0);
    assert!(undo("true").contains("nothing to undo"));
    assert!(!Path::new(DIRECTORY).exists());
}

fn stops_on(
    signal: Signal,
    mut agent: Child,
    lines: impl Iterator<Item = io::Result<String>>,
    original: &str,
    before: &BTreeSet<String>,
) {
    let (near, _far) = transfer(|near| assert!(algorithm(near).starts_with("kk_")));
    let port = near.local_addr().unwrap().port().to_string();
    let line = lines.map(Result::unwrap).find(|line| line.contains(&port)).unwrap();
    for part in [original, "kk_", "predicted-latency", "rtt", "isolated", "burst"] {
        assert!(line.contains(part), "{part} in {line}");
    }
    kill(Pid::from_raw(agent.id() as i32), signal).unwrap();
    assert_eq!(agent.wait().unwrap().code(), Some(0));
    assert_eq!(algorithm(&near), original);
    assert_as_before(before, signal.as_str());
}
