//! What one who has a network namespace or a cgroup of his own can do to others: nothing beyond his share.
//!
//! It needs root. It is one test function, since the host can have one agent at a time.

mod common;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use kirikae_agent::own_namespace;
use kirikae_daemon::client;
use kirikae_daemon::status::Paths;
use nix::sched::{CloneFlags, unshare};
use socket2::{Domain, Socket, Type};

use common::{OwnCgroup, RunningAgent, algorithm, privileged};

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(10);
const NOBODY: u32 = 65_534;

#[test]
fn tenants_are_apart() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    cgroups_far_below_stay_in_the_scope(&cgroup);
    let agent = RunningAgent::start_inside(&cgroup);
    algorithms_are_the_switchers();
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

/// The namespaces but the agent's own in which something is known of a path, once there are that many.
fn namespaces_with_paths(number: usize) -> Vec<u32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let Paths { paths, .. } = client::get("/paths").unwrap();
        let others = paths.iter().map(|it| it.path.namespace);
        let others: Vec<u32> = others.filter(|it| *it != own_namespace().unwrap()).collect();
        if others.len() == number || Instant::now() > deadline {
            assert_eq!(others.len(), number, "{paths:?}");
            return others;
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

/// What the switcher uses is not for programs, not even what is meant for the operator's choice alone.
fn algorithms_are_the_switchers() {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap();
    let available = read("tcp_available_congestion_control");
    assert!(available.contains("kk_cubic"), "{available}");
    let allowed = read("tcp_allowed_congestion_control");
    assert!(!allowed.contains("kk_"), "{allowed}");
    let mut nobody = Command::new(std::env::current_exe().unwrap());
    nobody.args(["--ignored", "--exact", "nobody_may_set_an_algorithm_of_ours"]);
    let told = nobody.uid(NOBODY).gid(NOBODY).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
}

#[test]
#[ignore = "run by another test, as nobody, while an agent runs"]
fn nobody_may_set_an_algorithm_of_ours() {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let refused = socket.set_tcp_congestion(b"kk_cubic").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
}

/// A tenant who may make cgroups below his own does not leave the scope that this is in.
fn cgroups_far_below_stay_in_the_scope(cgroup: &OwnCgroup) {
    let agent = RunningAgent::start(cgroup, "name = 'tenant'\nleast-rtt = '0 s'");
    let far_below = vec!["x"; 20].join("/");
    fs::create_dir_all(cgroup.path.join(&far_below)).unwrap();
    fs::write(cgroup.path.join(&far_below).join("cgroup.procs"), std::process::id().to_string())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut far = listener.accept().unwrap().0;
    let deadline = Instant::now() + PATIENCE;
    while !algorithm(&near).starts_with("kk_") && Instant::now() < deadline {
        near.write_all(&[7; 10_000]).unwrap();
        far.read_exact(&mut [0; 10_000]).unwrap();
    }
    let in_use = algorithm(&near);
    cgroup.enter_again();
    let mut below = cgroup.path.join(far_below);
    while below != cgroup.path {
        fs::remove_dir(&below).unwrap();
        below.pop();
    }
    assert!(in_use.starts_with("kk_"), "{in_use}");
    agent.stop();
}
