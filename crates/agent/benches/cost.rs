//! What the algorithms cost for each ACK, by the kernel's own statistics (bpf_stats). Needs root:
//! `cargo bench -p kirikae-agent`.
//!
//! Each algorithm sends over an emulated path with losses, one after the other, in several rounds;
//! what is printed are medians over the rounds. The kernel's clock is read twice for each call of a
//! program, and that is most of what it shows: an empty callback, measured in the same run, tells
//! how much, and a column without it says what the algorithm itself takes.
#![allow(unsafe_code)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use kirikae_agent::Algorithms;
use kirikae_algorithms::Algorithm;
use kirikae_emu::Emulated;
use kirikae_path::{DirectionSpec, ElementSpec, PathSpec, QueueLimit, Span};
use libbpf_rs::libbpf_sys::{BPF_STATS_RUN_TIME, bpf_enable_stats};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, ObjectBuilder, ProgramType};
use socket2::{Domain, Socket, Type};

const WRAPPER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/reno_wrapper.bpf.o"));
const ROUNDS: u64 = 5;
const SENDING: Duration = Duration::from_millis(1500);

fn main() {
    if let Err(why) = kirikae_agent::requirements() {
        println!("skipped: {why}");
        return;
    }
    let _statistics = count_run_time();
    let algorithms: Vec<Algorithm> = Algorithm::all().collect();
    let _registered = Algorithms::register(&algorithms).expect("the algorithms load");
    let _wrapper = register_wrapper();

    let names = algorithms.iter().map(|algorithm| algorithm.name());
    let names: Vec<&str> = std::iter::once("kk_wrapper").chain(names).collect();
    let mut rounds = vec![Vec::new(); names.len()];
    for round in 0..ROUNDS {
        for (name, costs) in names.iter().zip(&mut rounds) {
            costs.push(Cost::of_sending(name, round));
        }
    }
    let empty = median(rounds[0].iter().map(|cost| cost.empty_ns));
    let wrapper = median(rounds[0].iter().map(|cost| cost.ns - cost.empty_ns));
    println!("ns per ACK, medians of {ROUNDS} rounds; an empty callback shows {empty:.0} ns");
    println!("algorithm             ns  callbacks  above reno   without the measuring of the");
    println!("                                     wrapper      callbacks beyond its one");
    for (name, costs) in names.iter().zip(&rounds).skip(1) {
        let ns = median(costs.iter().map(|cost| cost.ns));
        let calls = median(costs.iter().map(|cost| cost.calls));
        let above = ns - wrapper;
        let net = above - (calls - 1.0) * empty;
        println!("{name:18} {ns:5.0} {calls:10.2} {above:11.0} {net:12.0}");
    }
}

/// Cost per ACK of one transfer.
#[derive(Clone)]
struct Cost {
    /// In all callbacks.
    ns: f64,
    /// Callbacks run.
    calls: f64,
    /// In callbacks that do nothing; only the wrapper has one.
    empty_ns: f64,
}

impl Cost {
    fn of_sending(algorithm: &str, seed: u64) -> Cost {
        let before = Run::now();
        let acks = send(algorithm, seed);
        let after = Run::now();
        let per_ack = |count: u64| count as f64 / acks as f64;
        Cost {
            ns: per_ack(after.all.0 - before.all.0),
            calls: per_ack(after.all.1 - before.all.1),
            empty_ns: per_ack(after.empty.0 - before.empty.0),
        }
    }
}

/// Nanoseconds and calls until now, of all callbacks of algorithms and of the empty one.
struct Run {
    all: (u64, u64),
    empty: (u64, u64),
}

impl Run {
    fn now() -> Run {
        let mut run = Run { all: (0, 0), empty: (0, 0) };
        for program in ProgInfoIter::default().filter(|p| p.ty == ProgramType::StructOps) {
            run.all.0 += program.run_time_ns;
            run.all.1 += program.run_cnt;
            // Names are cut to 15 characters.
            if program.name.to_string_lossy().starts_with("wrapper_pkts") {
                run.empty = (program.run_time_ns, program.run_cnt);
            }
        }
        run
    }
}

/// Sends as fast as it goes for a while; the number of ACKs that came back.
fn send(algorithm: &str, seed: u64) -> u64 {
    let rate = ElementSpec::Rate { bits_per_second: 100_000_000, limit: QueueLimit::Packets(200) };
    let delay = || ElementSpec::Delay { delay: Span::from_millis(5) };
    let loss = ElementSpec::Loss { probability: 0.0002 };
    let forward: DirectionSpec = vec![loss, rate, delay()];
    let spec = PathSpec { forward, backward: vec![delay()] };
    let path = Emulated::create(&spec, seed, "cost").expect("the path can be emulated");

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
    path.finish().expect("the path worked").backward.delivered
}

fn register_wrapper() -> Link {
    let object = ObjectBuilder::default().open_memory(WRAPPER).expect("an object");
    let mut object = object.load().expect("the verifier takes it");
    let mut map = object.maps_mut().find(|map| map.name() == "reno_wrapper").expect("a map");
    map.attach_struct_ops().expect("the name is free")
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
