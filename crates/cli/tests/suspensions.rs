//! A tenant whose programs answer late where they are switched harms himself alone, and what was found out lasts.
//!
//! It needs root. It is one test function, since the host can have one agent at a time.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_daemon::status::Guarding;
use socket2::{Domain, Socket, Type};

use common::{OwnCgroup, RunningAgent, algorithm, kirikae, privileged, state_directory};

const CONNECTIONS: usize = 12;
const ANSWER: usize = 20_000;
/// What an answer takes where whoever plays sees that it is switched.
const LATE: Duration = Duration::from_millis(60);
/// What it takes otherwise.
const USUAL: Duration = Duration::from_millis(10);
/// Between answers.
const PAUSE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(120);
const SCOPE: &str = "name = 'all'\nleast-rtt = '0 s'\nholdback = 0.2";

#[test]
fn a_tenant_who_plays_harm_is_observed_alone_and_for_good() {
    if !privileged() {
        return;
    }
    let host = OwnCgroup::enter();
    let ends = &AtomicBool::new(false);
    let honest = connections_in(&host, "honest");
    let playing = connections_in(&host, "tenant");
    let name = |cgroup: &str| {
        let own = host.path.file_name().unwrap().to_string_lossy();
        format!("cgroup {own}/{cgroup}")
    };
    thread::scope(|scope| {
        for (pairs, plays) in [(&honest, false), (&playing, true)] {
            for pair in pairs {
                scope.spawn(move || answer(pair, plays, ends));
            }
        }
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let agent = RunningAgent::start(&host, SCOPE);
            let guard = wait(&agent, "the tenant is observed", |guard| {
                is_suspended(guard, &name("tenant"))
            });
            assert!(
                !guard
                    .cgroups
                    .iter()
                    .any(|it| it.cgroup == name("honest") && it.verdict == "hurts")
            );
            all_become(&playing, false);
            all_become(&honest, true);
            let told = agent.told();
            assert!(told.contains(&format!("{}: switching hurts", name("tenant"))), "{told}");
            agent.stop();

            let agent = RunningAgent::start(&host, SCOPE);
            let guard = guarding(&agent);
            assert!(is_suspended(&guard, &name("tenant")), "{guard:?}");
            let told = kirikae().arg("status").output().unwrap();
            let told = String::from_utf8(told.stdout).unwrap();
            assert!(told.contains(&name("tenant")) && told.contains("only observed"), "{told}");
            all_become(&honest, true);
            all_become(&playing, false);
            let file = state_directory().join("suspended");
            assert!(fs::read_to_string(&file).unwrap().contains("/tenant"));

            assert!(kirikae().arg("resume").status().unwrap().success());
            assert!(!file.exists());
            all_become(&playing, true);
            agent.stop();

            fs::write(&file, b"\xff not ours").unwrap();
            let agent = RunningAgent::start(&host, SCOPE);
            wait(&agent, "the file is set aside", |_| {
                agent.told().contains("suspended.unreadable")
            });
            assert!(!is_suspended(&guarding(&agent), &name("tenant")));
            agent.stop();
        }));
        ends.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    drop((honest, playing));
    for cgroup in ["honest", "tenant"] {
        fs::remove_dir(host.path.join(cgroup)).unwrap();
    }
}

/// Connections of a cgroup below: their sockets are made in it. The end that writes is the first.
fn connections_in(host: &OwnCgroup, cgroup: &str) -> Vec<(TcpStream, TcpStream)> {
    let path = host.path.join(cgroup);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("cgroup.procs"), std::process::id().to_string()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pair = |_| {
        let far = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        // An answer is ACKed as it is read.
        far.set_recv_buffer_size(4096).unwrap();
        far.connect(&address.into()).unwrap();
        (listener.accept().unwrap().0, far.into())
    };
    let pairs = (0..CONNECTIONS).map(pair).collect();
    host.enter_again();
    pairs
}

/// Answers again and again, until the test ends.
fn answer((near, far): &(TcpStream, TcpStream), plays: bool, ends: &AtomicBool) {
    let (mut near, mut far) = (near, far);
    let mut received = [0; ANSWER];
    while !ends.load(Ordering::Relaxed) {
        let is_late = plays && is_switched(near);
        near.write_all(&[7; ANSWER]).unwrap();
        thread::sleep(if is_late { LATE } else { USUAL });
        far.read_exact(&mut received).unwrap();
        thread::sleep(PAUSE);
    }
}

fn is_switched(stream: &TcpStream) -> bool {
    algorithm(stream).starts_with("kk_")
}

/// Waits until each connection was switched, or until none is any more.
fn all_become(pairs: &[(TcpStream, TcpStream)], switched: bool) {
    let deadline = Instant::now() + PATIENCE;
    for (near, _) in pairs {
        while is_switched(near) != switched {
            assert!(Instant::now() < deadline, "{} is not to be {switched}", algorithm(near));
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn guarding(agent: &RunningAgent) -> Guarding {
    agent.status().policy.scopes[0].guard.clone().unwrap()
}

fn is_suspended(guard: &Guarding, cgroup: &str) -> bool {
    guard.cgroups.iter().any(|it| it.cgroup == cgroup && it.suspended_since.is_some())
}

/// What the guards have found out, once that is so.
fn wait(agent: &RunningAgent, what: &str, is_so: impl Fn(&Guarding) -> bool) -> Guarding {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let guard = guarding(agent);
        if is_so(&guard) {
            return guard;
        }
        assert!(Instant::now() < deadline, "not seen: {what}; {guard:?}");
        thread::sleep(Duration::from_millis(200));
    }
}
