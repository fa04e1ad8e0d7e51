//! An agent killed again and again under load: `sudo cargo bench -p kirikae --bench kills -- 100`.
//!
//! 200 connections over an emulated path of 100 ms answer requests, three a second each; after 20 each is
//! closed and another opened, so that every agent meets some that it may switch. The agent is
//! killed (SIGKILL) at random moments; then by turns the next one starts, which cleans up first, or
//! `kirikae undo` does. The bench checks every byte of every answer, and how long each took: a connection has
//! stalled if an answer took 2 RTT longer than the one RTT that it needs. The same is counted before without
//! any agent, to show what the machine itself does. In the end nothing may be left.

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_emu::Emulated;
use kirikae_path::{ElementSpec, PathSpec, QueueLimit, Span};

use common::{OwnCgroup, kirikae, privileged};

const KILLS: usize = 100;
const CONNECTIONS: usize = 200;
const RTT: Duration = Duration::from_millis(100);
/// Size of an answer, bytes: it fits an initial window, so that an answer takes one round trip.
const ANSWER: usize = 6_000;
/// Requests over one connection.
const REQUESTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(200);
/// How long it is counted without an agent.
const CONTROL: Duration = Duration::from_secs(30);

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let kills = numbers.next_back().unwrap_or(KILLS);
    if !privileged() {
        return;
    }
    let before = common::host();
    let cgroup = OwnCgroup::enter();
    let delay = || ElementSpec::Delay { delay: Span::from_millis(RTT.as_millis() as u64 / 2) };
    let rate =
        ElementSpec::Rate { bits_per_second: 200_000_000, limit: QueueLimit::Packets(10_000) };
    let spec = PathSpec { forward: vec![rate, delay()], backward: vec![delay()] };
    let path = Emulated::create(&spec, 1, "kills").expect("the path can be emulated");
    // The agent switches at the server's end, so that is the sender's end of the path.
    let server = (path.sender().address(), 5000);
    let listener = path.sender().run_in(|| TcpListener::bind(server));
    let listener = listener.expect("a namespace").expect("a free port");

    let stop = AtomicBool::new(false);
    let took = Mutex::new(Vec::new());
    thread::scope(|scope| {
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.expect("a connection");
                thread::spawn(move || answer(stream));
            }
        });
        let mut clients = Vec::new();
        for number in 0..CONNECTIONS {
            let connect = || {
                let client = path.receiver().run_in(|| TcpStream::connect(server));
                client.expect("a namespace").expect("a listener")
            };
            let (stop, took) = (&stop, &took);
            clients.push(scope.spawn(move || {
                thread::sleep(PAUSE * number as u32 / CONNECTIONS as u32);
                while !stop.load(Ordering::Relaxed) {
                    ask(connect(), number as u32, stop, took);
                }
            }));
        }

        thread::sleep(CONTROL);
        report("without an agent", &took.lock().expect("no panic").split_off(0));

        let mut random = 1u64;
        let mut undone = 0;
        let mut agent = start_agent(&cgroup);
        let progress = Instant::now();
        for kill in 0..kills {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // The agent may be killed while it starts, too.
            let wait = Duration::from_millis((random >> 33) % 4000);
            thread::sleep(wait);
            agent.kill().expect("our child");
            agent.wait().expect("our child");
            if kill % 2 == 1 {
                let status = kirikae().arg("undo").stderr(Stdio::null()).status();
                assert!(status.expect("it runs").success(), "undo after kill {kill}");
                undone += 1;
            }
            agent = start_agent(&cgroup);
            if kill % 10 == 9 {
                eprintln!(
                    "{} of {kills} kills, {:.0} s",
                    kill + 1,
                    progress.elapsed().as_secs_f64()
                );
            }
        }
        agent.kill().expect("our child");
        agent.wait().expect("our child");
        let status = kirikae().arg("undo").stderr(Stdio::null()).status();
        assert!(status.expect("it runs").success(), "the last undo");
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().expect("every byte as it was sent");
        }
        println!("{kills} kills, {undone} undone by `kirikae undo`, the others by the next agent");
        report("with the agent killed", &took.lock().expect("no panic"));
    });
    path.finish().expect("the path worked");
    drop(cgroup);
    let left = common::left_since(&before);
    println!("left behind: {}", if left.is_empty() { "nothing".into() } else { left.join(", ") });
    assert!(left.is_empty());
}

fn start_agent(cgroup: &OwnCgroup) -> Child {
    let mut command: Command = kirikae();
    command.args(["run", "--cgroup"]).arg(&cgroup.path);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs")
}

fn byte([connection, request]: [u32; 2], place: usize) -> u8 {
    (connection * 7 + request * 13 + place as u32 * 31) as u8
}

fn answer(mut stream: TcpStream) {
    let mut request = [0; 8];
    while stream.read_exact(&mut request).is_ok() {
        let [connection, number] = [0, 4]
            .map(|at| u32::from_be_bytes(request[at..at + 4].try_into().expect("four bytes")));
        let bytes: Vec<u8> = (0..ANSWER).map(|place| byte([connection, number], place)).collect();
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}

fn ask(mut stream: TcpStream, connection: u32, stop: &AtomicBool, took: &Mutex<Vec<Duration>>) {
    let mut bytes = vec![0; ANSWER];
    for number in 0..REQUESTS {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let begin = Instant::now();
        let request = [connection.to_be_bytes(), number.to_be_bytes()].concat();
        stream.write_all(&request).expect("an open connection");
        stream.read_exact(&mut bytes).expect("an open connection");
        took.lock().expect("no panic").push(begin.elapsed());
        let is_right = |(place, found): (usize, &u8)| *found == byte([connection, number], place);
        assert!(bytes.iter().enumerate().all(is_right), "connection {connection}: changed");
        thread::sleep(PAUSE);
    }
}

fn report(when: &str, took: &[Duration]) {
    let mut sorted = took.to_vec();
    sorted.sort();
    let quantile = |q: f64| sorted[((sorted.len() - 1) as f64 * q) as usize].as_secs_f64() * 1e3;
    let stalled = sorted.iter().filter(|it| **it > 3 * RTT).count();
    println!(
        "{when}: {} answers, median {:.0} ms, 99.9 % {:.0} ms, longest {:.0} ms; {stalled} took more \
         than 3 RTT ({:.0} ms)",
        sorted.len(),
        quantile(0.5),
        quantile(0.999),
        quantile(1.0),
        3.0 * RTT.as_secs_f64() * 1e3,
    );
}
