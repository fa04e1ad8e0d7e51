//! What operators see of the path memory, and that it is kept while no agent runs.
//!
//! It needs root. It is one test function, since the host can have one agent at a time. Everything is in a
//! network namespace of its own.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_agent::PathCounts;
use kirikae_daemon::client;
use kirikae_daemon::status::Paths;
use nix::sched::{CloneFlags, unshare};

use common::{OwnCgroup, RunningAgent, kirikae, privileged, state_directory};

/// Of ::1 nothing is kept: the first 64 bits are what a path is known by, and without any bit there is none.
const IPV6: &str = "fd00:6b6b::1";

#[test]
fn paths_are_shown_forgotten_and_kept() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    thread::scope(|scope| {
        scope.spawn(|| {
            enter_a_new_namespace();
            refused(&["paths"], "no agent is running");
            refused(&["paths", "forget", "192.0.2.0/24"], "no agent is running");
            shown_and_forgotten(&cgroup);
            kept(&cgroup);
        });
    });
}

fn enter_a_new_namespace() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    ip(&["link", "set", "lo", "up"]);
    // Or the kernel's own metrics would be seeds of what is forgotten here.
    fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1").unwrap();
    ip(&["address", "add", &format!("{IPV6}/128"), "dev", "lo", "nodad"]);
    // The kernel routes it a moment after it is added.
    let deadline = Instant::now() + Duration::from_secs(10);
    while UdpSocket::bind("[::]:0").unwrap().connect((IPV6, 9)).is_err() {
        assert!(Instant::now() < deadline, "no route to {IPV6}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn ip(arguments: &[&str]) {
    assert!(Command::new("ip").args(arguments).status().unwrap().success(), "ip {arguments:?}");
}

fn run(arguments: &[&str]) -> Output {
    kirikae().args(arguments).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str], why: &str) {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(why) && said.lines().count() == 1, "{said}");
}

/// A connection over loopback that shows something of its path, and ends.
fn talk(host: &str) {
    let listener = TcpListener::bind((host, 0)).unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut far = listener.accept().unwrap().0;
    let sent = vec![7; 200_000];
    thread::scope(|scope| {
        scope.spawn(|| {
            for burst in sent.chunks(10_000) {
                near.write_all(burst).unwrap();
                thread::sleep(Duration::from_millis(5));
            }
            drop(near);
        });
        far.read_to_end(&mut Vec::new()).unwrap();
    });
}

/// What is known of paths, once it is of that many.
fn known(number: usize) -> Paths {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let paths: Paths = client::get("/paths").unwrap();
        if paths.memory.known == number || Instant::now() > deadline {
            assert_eq!(paths.memory.known, number, "{paths:?}");
            return paths;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn shown_and_forgotten(cgroup: &OwnCgroup) {
    let agent = RunningAgent::start_inside(cgroup);
    assert_eq!(
        printed(&["paths"]),
        "known: 0 of at most 16384; new connections on these: 0; jumps: 0, first flights: 0, retreats: 0\n"
    );
    talk("127.0.0.1");
    talk(IPV6);
    let paths = known(2);
    assert!(paths.paths.iter().all(|it| it.interface_name.as_deref() == Some("lo")), "{paths:?}");
    assert!(paths.paths.iter().all(|it| it.path.rtt_us > 0 && it.path.delivered_kib > 0));

    assert_eq!(paths.memory.counts, PathCounts::default());
    talk("127.0.0.1");
    talk(IPV6);
    // Of each connection one end has found what is known, or both have.
    let counts = agent.status().paths.counts;
    assert!((2..=4).contains(&counts.hits) && counts.retreats == 0, "{counts:?}");
    known(2);

    let told = printed(&["paths", "--sort", "address"]);
    let rows: Vec<&str> = told.lines().filter(|line| line.contains(" lo ")).collect();
    assert!(rows[0].contains("127.0.0.1") && rows[1].contains("fd00:6b6b::/64"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    let of_one: Paths =
        serde_json::from_str(&printed(&["paths", "127.0.0.0/8", "--json"])).unwrap();
    assert_eq!((of_one.memory.known, of_one.paths.len()), (2, 1));
    assert_eq!(of_one.paths[0].path.remote.to_string(), "127.0.0.1/32");

    refused(&["paths", "forget", "192.0.2.0/24"], "nothing is known of a path to 192.0.2.0/24");
    assert!(printed(&["paths", "forget", "::/0"]).contains("paths forgotten: 1"));
    assert_eq!(known(1).paths[0].path.remote.to_string(), "127.0.0.1/32");
    agent.stop();
}

fn kept(cgroup: &OwnCgroup) {
    let file = state_directory().join("paths");
    let agent = RunningAgent::start_inside(cgroup);
    assert!(agent.told().contains("paths known from before: 1"), "{}", agent.told());
    let kept = known(1);
    assert_eq!(kept.paths[0].interface_name.as_deref(), Some("lo"));
    assert_eq!(kept.paths[0].path.remote.to_string(), "127.0.0.1/32");

    // A route to elsewhere changes nothing; one that leads there does.
    ip(&["route", "add", "198.51.100.0/24", "dev", "lo"]);
    thread::sleep(Duration::from_secs(2));
    known(1);
    ip(&["route", "add", "127.0.0.0/24", "dev", "lo"]);
    known(0);
    assert!(
        agent.told().contains("the network has changed; paths forgotten: 1"),
        "{}",
        agent.told()
    );
    talk("127.0.0.1");
    known(1);
    agent.stop();

    // What was edited is not believed, and not thrown away.
    let edited = fs::read_to_string(&file).unwrap().replace(" lo ", " eth0 ");
    fs::write(&file, &edited).unwrap();
    let agent = RunningAgent::start_inside(cgroup);
    let told = agent.told();
    let warnings: Vec<&str> = told.lines().filter(|line| line.contains("checksum")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("paths.unreadable now"), "{told}");
    known(0);
    agent.stop();
    assert!(!file.exists(), "nothing is known");
    assert_eq!(fs::read_to_string(file.with_extension("unreadable")).unwrap(), edited);
}
