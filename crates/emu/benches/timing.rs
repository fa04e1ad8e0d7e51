//! Measures how well emulated paths keep time on this machine, and how much it holds. It needs root: `cargo
//! bench -p kirikae-emu`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use kirikae_emu::{Emulated, Error};
use kirikae_path::{DirectionSpec, ElementSpec, PathSpec, QueueLimit, Span};
use kirikae_vocabulary::Report;

const BURST: usize = 64 * 1024;
const BURSTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(500);

fn main() {
    match Emulated::create(
        &PathSpec { forward: vec![rate(1_000_000)], ..PathSpec::default() },
        1,
        "1 Tb/s",
    ) {
        Err(error @ Error::TooFast { .. }) => println!("{error}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("1 Tb/s is not refused"),
    }
    println!("timing error in us, bursts of 64 KB every 0.5 s over 10 Mb/s, RTT 200 ms:");
    println!("paths  direction      packets      p50      p99      max  held");
    for paths in [1, 8, 28, 40] {
        side_by_side(paths, vec![rate(10), delay()], vec![delay()]);
    }
    println!("the same, all at once over 100 Mb/s without delay:");
    side_by_side(4, vec![rate(100)], vec![]);
}

fn rate(megabits_per_second: u64) -> ElementSpec {
    ElementSpec::Rate {
        bits_per_second: megabits_per_second * 1_000_000,
        limit: QueueLimit::Packets(100),
    }
}

fn delay() -> ElementSpec {
    ElementSpec::Delay { delay: Span::from_millis(100) }
}

fn side_by_side(paths: usize, forward: DirectionSpec, backward: DirectionSpec) {
    let spec = PathSpec { forward, backward };
    let emulated: Vec<Emulated> = (0..paths)
        .map(|_| Emulated::create(&spec, 1, "timing").expect("the path can be emulated"))
        .collect();
    thread::scope(|scope| {
        for path in &emulated {
            scope.spawn(|| send_bursts(path));
        }
    });
    let reports: Vec<Report> =
        emulated.into_iter().map(|path| path.finish().expect("the path worked")).collect();
    // This finds the path that kept time worst.
    let worst = |p99: fn(&Report) -> f64| {
        reports.iter().max_by(|a, b| p99(a).total_cmp(&p99(b))).expect("a path")
    };
    let forward = &worst(|report| report.forward.timing_error.p99_us).forward;
    let backward = &worst(|report| report.backward.timing_error.p99_us).backward;
    for (name, direction) in [("forward", forward), ("backward", backward)] {
        let error = direction.timing_error;
        println!(
            "{paths:5}  {name:10} {:11} {:8.1} {:8.1} {:8.1}  {}",
            direction.delivered,
            error.p50_us,
            error.p99_us,
            error.max_us,
            direction.held()
        );
    }
}

fn send_bursts(path: &Emulated) {
    let address = (path.receiver().address(), 5000);
    let listen = || TcpListener::bind(address).expect("a free port");
    let listener = path.receiver().run_in(listen).expect("a namespace");
    let connect = || TcpStream::connect(address).expect("a listener");
    let mut out = path.sender().run_in(connect).expect("a namespace");
    let (mut from, _) = listener.accept().expect("a connection");
    let mut received = vec![0; BURST];
    for _ in 0..BURSTS {
        out.write_all(&[1; BURST]).expect("a connection");
        from.read_exact(&mut received).expect("a connection");
        thread::sleep(PAUSE);
    }
}
