//! The guard where switching hurts: `sudo cargo bench -p kirikae --bench guard`.
//!
//! Forty connections over an emulated path that loses packets answer 100 KB at a time. Their own algorithm is
//! bbr, and the policy allows nothing but kk_reno without idle keep, which takes longer there; it holds back
//! 2 %, as the policy that is installed does. The bench prints after how long, and after how many bursts, the
//! scope is only observed.

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_daemon::status::Guarding;
use kirikae_emu::Emulated;
use kirikae_path::{ElementSpec, PathSpec, Span};
use socket2::SockRef;

use common::{OwnCgroup, RunningAgent, privileged_with_paths};

const CONNECTIONS: usize = 40;
const PORT: u16 = 8080;
const ANSWER: usize = 100_000;
const PAUSE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(300);

fn main() {
    if !privileged_with_paths() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let scope = format!(
        "name = 'web'\nlocal-port = {PORT}\nalgorithms = ['kk_reno']\nidle-keep = false\nrespect-application = false\nholdback = 0.02"
    );
    let agent = RunningAgent::start(&cgroup, &scope);
    let delay = || ElementSpec::Delay { delay: Span::from_millis(25) };
    let loss = ElementSpec::Loss { probability: 0.04 };
    let spec = PathSpec { forward: vec![loss, delay()], backward: vec![delay()] };
    let path = Emulated::create(&spec, 1, "guard").expect("the path can be emulated");
    let bursts = Arc::new(AtomicU64::new(0));
    let ends = Arc::new(AtomicBool::new(false));
    let server = path.sender().address();
    let listener =
        path.sender().run_in(|| TcpListener::bind((server, PORT))).expect("a namespace").unwrap();
    let answering = thread::spawn(move || {
        for stream in listener.incoming().take(CONNECTIONS) {
            let stream = stream.expect("a connection");
            SockRef::from(&stream).set_tcp_congestion(b"bbr").expect("the kernel has bbr");
            thread::spawn(move || answer(stream));
        }
    });
    let asking: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let stream = path.receiver().run_in(|| TcpStream::connect((server, PORT)));
            let stream = stream.expect("a namespace").expect("a listener");
            let (bursts, ends) = (Arc::clone(&bursts), Arc::clone(&ends));
            thread::spawn(move || ask(stream, &bursts, &ends))
        })
        .collect();
    let begin = Instant::now();
    let mut verdict = String::new();
    while begin.elapsed() < PATIENCE {
        let guard: Guarding = agent.status().policy.scopes[0].guard.clone().expect("it has one");
        if guard.verdict != verdict {
            let (s, n) = (begin.elapsed().as_secs_f64(), bursts.load(Ordering::Relaxed));
            println!("{s:6.1} s, {n:6} bursts: {}", guard.says);
            verdict = guard.verdict;
        }
        if guard.suspended {
            break;
        }
        thread::sleep(Duration::from_secs(1));
    }
    ends.store(true, Ordering::Relaxed);
    for asking in asking {
        asking.join().expect("it asked until the end");
    }
    answering.join().expect("all have connected");
    path.finish().expect("the path worked");
    agent.stop();
}

fn answer(mut stream: TcpStream) {
    let mut request = [0; 1];
    while stream.read_exact(&mut request).is_ok() && stream.write_all(&[7; ANSWER]).is_ok() {}
}

fn ask(mut stream: TcpStream, bursts: &AtomicU64, ends: &AtomicBool) {
    let mut answer = [0; ANSWER];
    while !ends.load(Ordering::Relaxed) {
        stream.write_all(&[1]).expect("a connection");
        stream.read_exact(&mut answer).expect("a server that answers");
        bursts.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PAUSE);
    }
}
