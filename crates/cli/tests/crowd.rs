//! Tests a program that opens connections by the thousand: the agent remembers each, answers, and restores
//! all. (The bench `crowd` does the same with 65,000.)
//!
//! It is one test function, since the host can have one agent at a time.

mod common;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::SockRef;

use common::{OwnCgroup, RunningAgent, algorithm, host, kib, left_since, privileged};

const CONNECTIONS: usize = 5_000;

/// Both ends of connections over loopback, each of which ends with a reset and so at once.
fn open(count: usize) -> Vec<[TcpStream; 2]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let pair = |_| {
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let pair = [near, listener.accept().unwrap().0];
        for end in &pair {
            SockRef::from(end).set_linger(Some(Duration::ZERO)).unwrap();
        }
        pair
    };
    (0..count).map(pair).collect()
}

#[test]
fn every_one_of_thousands_is_remembered_and_given_back() {
    if !privileged() {
        return;
    }
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    let cgroup = OwnCgroup::enter();
    let before = host();
    let agent = RunningAgent::start_inside(&cgroup);
    let memory = || kib(agent.proc("status"), "VmRSS:");
    let descriptors = || std::fs::read_dir(agent.proc("fd")).unwrap().count();
    let (memory_before, descriptors_before) = (memory(), descriptors());

    let mut pairs = open(CONNECTIONS);
    let original = algorithm(&pairs[0][0]);
    for [near, far] in &mut pairs {
        near.write_all(&[7; 100]).unwrap();
        far.read_exact(&mut [0; 100]).unwrap();
    }
    assert_eq!(agent.status().connections, 2 * CONNECTIONS);
    // The agent has to hold what it tells of each connection, and nothing else.
    let grown = memory().saturating_sub(memory_before);
    assert!(grown < 8 * CONNECTIONS as u64, "{grown} KiB more");
    assert!(descriptors() <= descriptors_before + 5);

    agent.stop();
    assert!(pairs.iter().flatten().all(|end| algorithm(end) == original));
    drop(pairs);
    assert_eq!(left_since(&before), [""; 0]);
}
