//! What the agent costs at 10,000 connections: `sudo cargo bench -p kirikae --bench load`.
//!
//! 10,000 connections over loopback, both ends on this host and the answering one switched, each with a
//! burst of 4 KiB every five seconds: processor time and memory of the agent, the kernel's memory for
//! each connection, the switcher's time for each round trip by the kernel's own statistics (bpf_stats).
//! Then, or with `-- bulk` alone, it measures bulk over a veth pair, stock and switched by turns, and prints
//! the ratio of the goodputs.

#[path = "../tests/common/mod.rs"]
mod common;
mod statistics;

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use common::{OwnCgroup, RunningAgent, algorithm, cubic_to, kib, privileged};
use statistics::count_run_time;

/// The argument that makes the program the other end of the connections.
const ASK: &str = "ask";
const CONNECTIONS: usize = 10_000;
const ANSWER: usize = 4096;
const PERIOD: Duration = Duration::from_secs(5);
const WATCHED: Duration = Duration::from_secs(30);
const ROUNDS: usize = 20;
/// Turns of each connection in a round, and how long one writes. What the machine does besides changes more
/// slowly than a turn, and a turn is shorter than the timeout after which idle windows are cut.
const TURNS: usize = 10;
const TURN: Duration = Duration::from_millis(100);

fn main() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("up to there it is allowed");
    if let Some(address) = std::env::args().skip_while(|it| it != ASK).nth(1) {
        return ask(address.parse().expect("an address"));
    }
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    if !std::env::args().any(|it| it == "bulk") {
        idle(&cgroup);
    }
    bulk(&cgroup);
}

fn idle(cgroup: &OwnCgroup) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    // A process of its own has descriptors of its own.
    let own = std::env::current_exe().expect("this program");
    let mut asking = Command::new(own).args([ASK, &address.to_string()]).spawn().expect("it runs");
    let accepted = || listener.accept().expect("a connection").0;
    let mut answering: Vec<TcpStream> = (0..CONNECTIONS).map(|_| accepted()).collect();
    round(&mut answering);
    let slab_before = kib("/proc/meminfo", "SUnreclaim:");
    let agent = RunningAgent::start(cgroup, "least-rtt = '0 s'");
    // By now each connection has a choice and its scope.
    let statistics = count_run_time();
    round(&mut answering);
    let slab = kib("/proc/meminfo", "SUnreclaim:");
    let (cpu, begin, cost) = (cpu_time(&agent), Instant::now(), agent.status().cost);
    while begin.elapsed() < WATCHED {
        round(&mut answering);
    }
    let wall = begin.elapsed().as_secs_f64();
    let share = (cpu_time(&agent) - cpu) / wall;
    let now = agent.status();
    let runs = now.cost.runs - cost.runs;
    let ns = (now.cost.time - cost.time).as_nanos() as f64 / runs.max(1) as f64;
    drop(statistics);
    println!("{} connections remembered, of which {:?}", now.connections, now.by_algorithm);
    println!("agent: {:.2} % of a processor over {wall:.0} s", share * 100.0);
    println!("agent: {} KiB resident", kib(agent.proc("status"), "VmRSS:"));
    println!(
        "kernel: {} bytes for each connection remembered, by unreclaimable slab",
        (slab.saturating_sub(slab_before)) * 1024 / now.connections.max(1) as u64
    );
    println!("switcher: {ns:.0} ns a run, {runs} runs, with the reading of the clock");
    agent.stop();
    drop(answering);
    asking.wait().expect("our child");
}

/// Sends a burst on each connection, spread over the period.
fn round(connections: &mut [TcpStream]) {
    let begin = Instant::now();
    let count = connections.len() as u32;
    for (number, connection) in connections.iter_mut().enumerate() {
        let due = PERIOD * number as u32 / count;
        if let Some(wait) = due.checked_sub(begin.elapsed()) {
            thread::sleep(wait);
        }
        connection.write_all(&[1; ANSWER]).expect("a connection");
    }
}

/// The other process: it reads what is written, in the same order, until there is no more.
fn ask(address: SocketAddr) {
    let connect = |_| TcpStream::connect(address).expect("a listener");
    let mut connections: Vec<TcpStream> = (0..CONNECTIONS).map(connect).collect();
    while connections.iter_mut().all(|it| it.read_exact(&mut [0; ANSWER]).is_ok()) {}
}

fn bulk(cgroup: &OwnCgroup) {
    let pair = Pair::create();
    // There can be only one agent. So the scope names one of two ports, and the other is stock.
    let agent = RunningAgent::start(cgroup, "local-port = 5001");
    let mut ratios = Vec::new();
    for number in 0..ROUNDS {
        let mut transfers = [5000, 5001].map(|port| pair.transfer(port));
        for turn in 0..2 * TURNS {
            // Each is first as often as the other.
            transfers[(turn + number) % 2].take_turn();
        }
        let [stock, switched] = transfers.map(Transfer::finish);
        ratios.push((switched / stock).ln());
        eprintln!("{} of {ROUNDS}: {stock:.2} and {switched:.2} Gbit/s", number + 1);
    }
    agent.stop();
    let n = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / n;
    let variance = ratios.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // The quantile of Student's distribution with 19 degrees of freedom.
    let half = 2.093 * (variance / n).sqrt();
    println!(
        "bulk over veth, switched over stock: {:.3} (95 %: {:.3} to {:.3}), {ROUNDS} rounds",
        mean.exp(),
        (mean - half).exp(),
        (mean + half).exp()
    );
}

/// Two network namespaces with a veth pair between them; both are removed when this value is dropped.
struct Pair {
    names: [String; 2],
}

impl Pair {
    fn create() -> Pair {
        let names = ["a", "b"].map(|end| format!("kirikae-load-{}-{end}", std::process::id()));
        let [a, b] = &names;
        for line in [
            format!("netns add {a}"),
            format!("netns add {b}"),
            format!("-n {a} link add veth0 type veth peer name veth0 netns {b}"),
            format!("-n {a} addr add 192.0.2.1/24 dev veth0"),
            format!("-n {b} addr add 192.0.2.2/24 dev veth0"),
            format!("-n {a} link set veth0 up"),
            format!("-n {b} link set veth0 up"),
            format!("-n {a} link set lo up"),
        ] {
            let status = Command::new("ip").args(line.split(' ')).status().expect("iproute2");
            assert!(status.success(), "ip {line}");
        }
        cubic_to(a, Ipv4Addr::new(192, 0, 2, 2));
        Pair { names }
    }

    /// Opens one connection from this local port.
    fn transfer(&self, port: u16) -> Transfer {
        let [a, b] = &self.names;
        // The sender listens, so that its local port is known.
        let address = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), port));
        let listener = inside(a, || TcpListener::bind(address)).expect("a free port");
        let mut reader = inside(b, || TcpStream::connect(address)).expect("a listener");
        let sender = listener.accept().expect("a connection").0;
        let received = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&received);
        let reading = thread::spawn(move || {
            let mut buffer = vec![0; 1 << 18];
            loop {
                match reader.read(&mut buffer).expect("a connection") {
                    0 => return,
                    read => counted.fetch_add(read as u64, Ordering::Relaxed),
                };
            }
        });
        Transfer { port, sender, received, reading, written: 0, time: Duration::ZERO }
    }
}

/// Bulk on one connection, with pauses.
struct Transfer {
    port: u16,
    sender: TcpStream,
    received: Arc<AtomicU64>,
    reading: thread::JoinHandle<()>,
    written: u64,
    time: Duration,
}

impl Transfer {
    /// Writes for a while and waits until all of it has arrived.
    fn take_turn(&mut self) {
        let (buffer, begin) = (vec![1; 1 << 18], Instant::now());
        while begin.elapsed() < TURN {
            self.sender.write_all(&buffer).expect("a connection");
            self.written += buffer.len() as u64;
        }
        while self.received.load(Ordering::Relaxed) < self.written {
            thread::sleep(Duration::from_micros(50));
        }
        self.time += begin.elapsed();
    }

    /// Goodput in Gbit/s.
    fn finish(self) -> f64 {
        let used = algorithm(&self.sender);
        assert!(self.port == 5001 || used == "cubic", "{used} on port {}", self.port);
        self.sender.shutdown(std::net::Shutdown::Write).expect("a connection");
        self.reading.join().expect("no panic");
        self.written as f64 * 8.0 / 1e9 / self.time.as_secs_f64()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn inside<T: Send>(namespace: &str, f: impl FnOnce() -> T + Send) -> T {
    let file = fs::File::open(format!("/run/netns/{namespace}")).expect("it was made");
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            nix::sched::setns(&file, nix::sched::CloneFlags::CLONE_NEWNET).expect("root may");
            f()
        });
        inside.join().expect("no panic")
    })
}

/// Processor time that the agent took, seconds.
fn cpu_time(agent: &RunningAgent) -> f64 {
    let stat = fs::read_to_string(agent.proc("stat")).expect("it lives");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("a name").split(' ').collect();
    let ticks = |field: usize| fields[field].parse::<f64>().expect("a number");
    // utime and stime, in hundredths.
    (ticks(11) + ticks(12)) / 100.0
}
