//! Connections opened and closed under an agent, one after the other:
//! `sudo cargo bench -p kirikae --bench churn -- 50000`.
//!
//! Each carries a request and an answer over loopback and ends: by turns either side closes it, and now and
//! then a reset ends it. After every tenth of them the bench prints the connections that the agent remembers,
//! its memory and descriptors, and the kernel's unreclaimable slab. Then the agent is stopped (SIGSTOP) while
//! more connections are switched than there is room for events: the events have to be counted and the
//! connections must not wait.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use socket2::SockRef;

use common::{OwnCgroup, RunningAgent, kib, privileged};

const CONNECTIONS: usize = 50_000;
const ANSWER: usize = 20_000;
const STOPPED: usize = 5_000;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let connections: usize = numbers.next_back().unwrap_or(CONNECTIONS);
    if !privileged() {
        return;
    }
    let before = common::host();
    let cgroup = OwnCgroup::enter();
    let agent = RunningAgent::start(&cgroup, "least-rtt = '0 s'");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.expect("a connection"));
        }
    });

    println!(
        " connections  remembered  switches  lost events  agent KiB  descriptors  slab KiB  each us"
    );
    let mut begin = Instant::now();
    for number in 0..=connections {
        if number.is_multiple_of((connections / 10).max(1)) {
            let each = begin.elapsed() / (connections / 10).max(1) as u32;
            print(&agent, number, each);
            begin = Instant::now();
        }
        ask(TcpStream::connect(address).expect("a listener"), number);
    }

    agent.signal(Signal::SIGSTOP);
    let begin = Instant::now();
    for number in 0..STOPPED {
        ask(TcpStream::connect(address).expect("a listener"), number);
    }
    let each = begin.elapsed() / STOPPED as u32;
    agent.signal(Signal::SIGCONT);
    println!("the agent stopped for {STOPPED} connections:");
    print(&agent, connections + STOPPED, each);

    agent.stop();
    drop(cgroup);
    let left = common::left_since(&before);
    println!("left behind: {}", if left.is_empty() { "nothing".into() } else { left.join(", ") });
    assert!(left.is_empty());
}

fn answer(mut stream: TcpStream) {
    let mut request = [0; 1];
    if stream.read_exact(&mut request).is_err() {
        return;
    }
    for _ in 0..3 {
        stream.write_all(&[7; ANSWER]).expect("a connection");
    }
    if request[0] == 1 {
        // The other side closes it.
        let _ = stream.read(&mut request);
    }
}

fn ask(mut stream: TcpStream, number: usize) {
    stream.write_all(&[u8::from(number.is_multiple_of(2))]).expect("a connection");
    let mut bytes = vec![0; 3 * ANSWER];
    stream.read_exact(&mut bytes).expect("an answer");
    assert!(bytes.iter().all(|byte| *byte == 7), "connection {number}: changed on its way");
    if number.is_multiple_of(10) {
        SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("a socket");
    }
}

fn print(agent: &RunningAgent, connections: usize, each: Duration) {
    // Closed sockets are freed a moment later.
    thread::sleep(Duration::from_millis(200));
    let status = agent.status();
    let descriptors = fs::read_dir(agent.proc("fd")).expect("it lives").count();
    println!(
        "{connections:12} {:11} {:9} {:12} {:10} {descriptors:12} {:9} {:8.0}",
        status.connections,
        status.switches.values().sum::<u64>(),
        status.events_lost,
        kib(agent.proc("status"), "VmRSS:"),
        kib("/proc/meminfo", "SUnreclaim:"),
        each.as_secs_f64() * 1e6,
    );
}
