//! What one who has a network namespace or a cgroup of his own can do to others: nothing beyond his share.
//!
//! It needs root. It is one test function, since the host can have one agent at a time.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use kirikae_daemon::client;
use kirikae_daemon::status::Paths;
use nix::sched::{CloneFlags, unshare};

use common::{OwnCgroup, RunningAgent, privileged};

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn tenants_are_apart() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let agent = RunningAgent::start_inside(&cgroup);
    a_namespace_knows_nothing_of_one_before_it();
    assert_eq!(agent.status().paths.counts.hits, 0);
    agent.stop();
}

/// Does something in a new network namespace, which has no name, and is gone then.
fn in_a_namespace<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap();
        assert!(up.success());
        f()
    };
    thread::scope(|scope| scope.spawn(inside).join().unwrap())
}

fn inode() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").unwrap().ino()
}

/// A connection over loopback that shows something of its path, and ends.
fn talk() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut far = listener.accept().unwrap().0;
    let mut received = [0; 10_000];
    for _ in 0..10 {
        near.write_all(&[7; 10_000]).unwrap();
        far.read_exact(&mut received).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
}

/// The namespaces in which something is known of paths over loopback, once there are that many.
fn namespaces_with_paths(number: usize) -> Vec<u32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let paths: Paths = client::get("/paths").unwrap();
        let over_loopback = paths.paths.iter().filter(|it| it.path.remote.addr().is_loopback());
        let namespaces: Vec<u32> = over_loopback.map(|it| it.path.namespace).collect();
        if namespaces.len() == number || Instant::now() > deadline {
            assert_eq!(namespaces.len(), number, "{paths:?}");
            return namespaces;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The kernel gives the inode of a namespace that is gone to the next that is made.
fn a_namespace_knows_nothing_of_one_before_it() {
    let first = in_a_namespace(|| {
        talk();
        inode()
    });
    let known = namespaces_with_paths(1);
    // The agent lets go of the namespace within a second.
    let deadline = Instant::now() + PATIENCE;
    let is_again = || {
        in_a_namespace(|| {
            let is_same = inode() == first;
            if is_same {
                talk();
            }
            is_same
        })
    };
    while !is_again() {
        assert!(Instant::now() < deadline, "no namespace gets the inode {first} again");
        thread::sleep(Duration::from_millis(50));
    }
    let both = namespaces_with_paths(2);
    assert_ne!(both[0], both[1]);
    assert!(both.contains(&known[0]));
}
