//! Measures what the algorithms cost for each ACK, by the kernel's own statistics (bpf_stats). It needs root:
//! `cargo bench -p kirikae-agent`. With `-- 10 kk_bbr kk_bbr3` it measures ten rounds of these alone. To compare two
//! states of the code, run the bench of each by turns.
//!
//! Each algorithm sends over an emulated path with losses, one after the other, in several rounds; medians
//! over the rounds are printed. On the slower path more time passes between two ACKs, so that rarely used
//! code has left the caches. The kernel reads its clock twice for each call of a program, and that is most of
//! what it shows: an empty callback, measured in the same run, tells how much, and one column is without it:
//! what the algorithm itself takes.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use kirikae_agent::Algorithms;
use kirikae_algorithms::Algorithm;
use kirikae_checks::{Need, can_run, has};
use kirikae_emu::{Emulated, Error};
use kirikae_path::{DirectionSpec, ElementSpec, PathSpec, QueueLimit, Span};
use libbpf_rs::libbpf_sys::{BPF_STATS_RUN_TIME, bpf_enable_stats};
use libbpf_rs::query::{ProgInfoIter, ProgramInfo};
use libbpf_rs::{Link, MapCore, MapType, ObjectBuilder, ProgramType};
use socket2::{Domain, Socket, Type};

const WRAPPER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/reno_wrapper.bpf.o"));
const ROUNDS: u64 = 5;
const MEGABITS_PER_SECOND: [u64; 2] = [100, 500];
const SENDING: Duration = Duration::from_millis(1500);

fn main() {
    if !has(Need::Bpf, kirikae_agent::requirements()) || !can_run(&[Need::Tun]) {
        return;
    }
    let _statistics = count_run_time();
    let (count, contenders) = wanted();
    for megabits in MEGABITS_PER_SECOND {
        compare(&contenders, count, megabits);
    }
}

/// Measures all over a path of that rate, in turn, and prints the table.
fn compare(contenders: &[Contender], count: u64, megabits: u64) {
    let mut rounds = vec![Vec::new(); contenders.len()];
    for round in 0..count {
        for (contender, costs) in contenders.iter().zip(&mut rounds) {
            match Cost::of_sending(contender, megabits, round) {
                Ok(cost) => costs.push(cost),
                Err(why) => return println!("skipped: {why}"), // the machine is too busy, say
            }
        }
    }
    let empty = median(rounds[0].iter().map(|cost| cost.empty_ns));
    let wrapper = median(rounds[0].iter().map(|cost| cost.ns - cost.empty_ns));
    println!(
        "ns per ACK at {megabits} Mb/s, medians of {count} rounds; an empty callback shows \
         {empty:.0} ns"
    );
    println!("algorithm             ns  callbacks  above reno   without the measuring of the");
    println!("                                     wrapper      callbacks beyond its one");
    for (contender, costs) in contenders.iter().zip(&rounds).skip(1) {
        let ns = median(costs.iter().map(|cost| cost.ns));
        let calls = median(costs.iter().map(|cost| cost.calls));
        let above = ns - wrapper;
        let net = above - (calls - 1.0) * empty;
        println!("{:18} {ns:5.0} {calls:10.2} {above:11.0} {net:12.0}", contender.label());
    }
}

/// The contenders to measure, the wrapper first, and the number of rounds.
fn wanted() -> (u64, Vec<Contender>) {
    let mut rounds = ROUNDS;
    let mut named = Vec::new();
    // Cargo's own argument is --bench.
    for argument in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        if let Ok(count) = argument.parse() {
            rounds = count;
        } else {
            let ours = Algorithm::named(&argument);
            named.push(Contender::Ours(ours.unwrap_or_else(|| panic!("no algorithm {argument}"))));
        }
    }
    if named.is_empty() {
        named.extend(Algorithm::all().map(Contender::Ours));
    }
    named.insert(0, Contender::Wrapper);
    (rounds, named)
}

enum Contender {
    /// Reno as the least BPF algorithm there can be.
    Wrapper,
    Ours(Algorithm),
}

/// Keeps an algorithm registered under its name as long as this value lives.
struct Registered {
    name: String,
    _ours: Option<Algorithms>,
    _link: Option<Link>,
}

impl Contender {
    fn label(&self) -> &str {
        match self {
            Contender::Ours(algorithm) => algorithm.name(),
            Contender::Wrapper => "wrapper",
        }
    }

    fn register(&self) -> Registered {
        match self {
            Contender::Ours(algorithm) => {
                let ours = Algorithms::register(std::slice::from_ref(algorithm));
                let ours = Some(ours.expect("the algorithm loads"));
                Registered { name: algorithm.name().to_string(), _ours: ours, _link: None }
            }
            Contender::Wrapper => {
                let object = ObjectBuilder::default().open_memory(WRAPPER).expect("an object");
                let mut object = object.load().expect("the verifier takes it");
                let mut map = object
                    .maps_mut()
                    .find(|map| map.map_type() == MapType::StructOps)
                    .expect("an ALGORITHM()");
                let name = format!("kk_{}", map.name().to_string_lossy());
                let link = Some(map.attach_struct_ops().expect("the name is free"));
                Registered { name, _ours: None, _link: link }
            }
        }
    }
}

/// Cost per ACK of one transfer.
#[derive(Clone)]
struct Cost {
    /// Nanoseconds in all callbacks.
    ns: f64,
    /// How many callbacks ran.
    calls: f64,
    /// Nanoseconds in callbacks that do nothing; only the wrapper has one.
    empty_ns: f64,
}

impl Cost {
    fn of_sending(contender: &Contender, megabits: u64, seed: u64) -> Result<Cost, Error> {
        let registered = contender.register();
        let before = run_times();
        let acks = send(&registered.name, megabits, seed)?;
        let (mut ns, mut calls, mut empty_ns) = (0, 0, 0);
        for (id, now) in run_times() {
            let then = before.get(&id).copied().unwrap_or_default();
            ns += now.ns - then.ns;
            calls += now.calls - then.calls;
            empty_ns += if now.is_empty { now.ns - then.ns } else { 0 };
        }
        let per_ack = |count: u64| count as f64 / acks as f64;
        Ok(Cost { ns: per_ack(ns), calls: per_ack(calls), empty_ns: per_ack(empty_ns) })
    }
}

/// Nanoseconds and calls of a callback until now.
#[derive(Clone, Copy, Default)]
struct RunTime {
    ns: u64,
    calls: u64,
    /// Whether it is the callback that does nothing.
    is_empty: bool,
}

/// The run times of all callbacks of algorithms, by the program's number.
fn run_times() -> HashMap<u32, RunTime> {
    let callbacks = ProgInfoIter::default().filter(|p| p.ty == ProgramType::StructOps);
    let run_time = |program: ProgramInfo| {
        // Names are cut to 15 characters.
        let is_empty = program.name.to_string_lossy().starts_with("wrapper_pkts");
        (program.id, RunTime { ns: program.run_time_ns, calls: program.run_cnt, is_empty })
    };
    callbacks.map(run_time).collect()
}

/// Sends as fast as it goes for a while, and returns the number of ACKs that came back.
fn send(algorithm: &str, megabits: u64, seed: u64) -> Result<u64, Error> {
    let rate = ElementSpec::Rate {
        bits_per_second: megabits * 1_000_000,
        limit: QueueLimit::Packets(2 * megabits), // 24 ms
    };
    let delay = || ElementSpec::Delay { delay: Span::from_millis(5) };
    let loss = ElementSpec::Loss { probability: 0.0002 };
    let forward: DirectionSpec = vec![loss, rate, delay()];
    let spec = PathSpec { forward, backward: vec![delay()] };
    let path = Emulated::create(&spec, seed, "cost")?;

    let address = (path.receiver().address(), 5000);
    let listener = path.receiver().run_in(|| TcpListener::bind(address)).expect("a namespace");
    let listener = listener.expect("a free port");
    let socket = path.sender().run_in(|| Socket::new(Domain::IPV4, Type::STREAM, None));
    let mut socket = socket.expect("a namespace").expect("a socket");
    socket.set_tcp_congestion(algorithm.as_bytes()).expect("a registered algorithm");
    socket.connect(&std::net::SocketAddr::from((address.0, 5000)).into()).expect("a listener");
    let (mut from, _) = listener.accept().expect("a connection");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while from.read(&mut buffer).expect("a connection") > 0 {}
        });
        let begin = Instant::now();
        while begin.elapsed() < SENDING {
            socket.write_all(&[1; 16_384]).expect("a connection");
        }
        socket.shutdown(std::net::Shutdown::Write).expect("a connection");
    });
    drop(socket);
    Ok(path.finish()?.backward.delivered)
}

/// The kernel counts for as long as the descriptor is open.
fn count_run_time() -> OwnedFd {
    // SAFETY: takes a number; what it returns is checked and owned by nobody else.
    let fd = unsafe { bpf_enable_stats(BPF_STATS_RUN_TIME) };
    assert!(fd >= 0, "the kernel counts run time from 5.8 on");
    // SAFETY: as above.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
