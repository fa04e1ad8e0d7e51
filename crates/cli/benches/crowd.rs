//! A program that opens 65,000 connections under an agent, or as many as it is told:
//! `sudo cargo bench -p kirikae --bench crowd -- 65000`.
//!
//! Both ends are on this host and remembered. They are spread over processes because each may have only so
//! many descriptors. The bench prints how long opening takes without an agent and with it, how much memory
//! the agent and the kernel hold, and how long the agent takes to tell its status and to restore everything.

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::SockRef;

use common::{OwnCgroup, RunningAgent, host, kib, left_since, privileged};

const CONNECTIONS: usize = 65_000;
/// Connections in one process, with two descriptors each.
const TOGETHER: usize = 8_000;
/// The argument that makes a process hold connections.
const HOLD: &str = "hold";

fn main() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("up to there it is allowed");
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let count: usize = numbers.next_back().unwrap_or(CONNECTIONS);
    if std::env::args().any(|it| it == HOLD) {
        return hold(count);
    }
    if !privileged() {
        return;
    }
    let before = host();
    let cgroup = OwnCgroup::enter();
    println!("{count} connections opened without an agent in {:.1?}", Crowd::open(count).0);
    let agent = RunningAgent::start_inside(&cgroup);
    let memory = || kib(agent.proc("status"), "VmRSS:");
    let slab = || kib("/proc/meminfo", "SUnreclaim:");
    println!("agent: {} KiB resident before", memory());
    let slab_before = slab();
    let (took, crowd) = Crowd::open(count);
    println!("{count} connections opened with an agent in {took:.1?}");
    let slab_each = (slab().saturating_sub(slab_before)) * 1024 / (2 * count as u64);
    println!("kernel: {slab_each} bytes for each end, the socket's own included");
    println!("agent: {} KiB resident", memory());
    let begin = Instant::now();
    let status = agent.status();
    println!("status of {} told in {:.2?}", status.connections, begin.elapsed());
    println!("agent: {} KiB resident afterwards", memory());
    assert_eq!(status.connections, 2 * count);
    let begin = Instant::now();
    agent.stop();
    println!("restored in {:.1?}", begin.elapsed());
    drop((crowd, cgroup));
    assert_eq!(left_since(&before), [""; 0]);
}

/// Processes that hold connections, until this value is dropped.
struct Crowd(Vec<Child>);

impl Crowd {
    /// Opens them; returns when all are open, and how long that took.
    fn open(count: usize) -> (Duration, Crowd) {
        let own = std::env::current_exe().expect("this program");
        let begin = Instant::now();
        let mut crowd = Crowd(Vec::new());
        for first in (0..count).step_by(TOGETHER) {
            let together = TOGETHER.min(count - first).to_string();
            let mut command = Command::new(&own);
            let command = command.args([HOLD, &together]);
            let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("it runs");
            let mut said = String::new();
            let out = child.stdout.as_mut().expect("it is piped");
            BufReader::new(out).read_line(&mut said).expect("it says that it is ready");
            crowd.0.push(child);
        }
        (begin.elapsed(), crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
            child.wait().expect("our child");
        }
    }
}

/// Holds both ends of connections until the input ends. Each ends with a reset, and so at once.
fn hold(count: usize) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let pair = |_| {
        let near = TcpStream::connect(listener.local_addr().expect("it is bound"));
        let mut pair = [near.expect("a listener"), listener.accept().expect("a connection").0];
        for end in &pair {
            SockRef::from(end).set_linger(Some(Duration::ZERO)).expect("a socket");
        }
        pair[0].write_all(&[7; 100]).expect("a connection");
        pair[1].read_exact(&mut [0; 100]).expect("what was written");
        pair
    };
    let pairs: Vec<[TcpStream; 2]> = (0..count).map(pair).collect();
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]);
    drop(pairs);
}
