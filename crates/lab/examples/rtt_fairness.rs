//! Two downloads with different RTTs share a bottleneck, on the real kernel and in the simulator; needs
//! root. What it plays, and the command: studies/rtt-fairness/kernel.toml.
//!
//! The second server's link is an emulated path of its own, whose far end passes packets on to the first
//! server's namespace, and that one to the shared path. All contenders are played at the same time, so
//! that what else the machine does meets all of them.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use kirikae_agent::Algorithms;
use kirikae_algorithms::Algorithm;
use kirikae_emu::{Emulated, Namespace};
use kirikae_lab::Controls;
use kirikae_lab::scenario::{Contender, Scenario};
use kirikae_lab::sim::{self, Files, Options};
use kirikae_lab::statistics::{Estimate, fairness, mean};
use socket2::{Domain, Socket, Type};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Between the far end of the second link and the first server's namespace.
const NEAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// The client's ports, one for each server.
const PORTS: [u16; 2] = [5201, 5202];
/// How much later the second begins, of a second, in each repetition.
const STAGGER: [f64; 5] = [0.0, 0.2, 0.4, 0.6, 0.8];

fn main() -> Outcome<()> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(Into::into).collect();
    let scenarios = Scenario::load_all(&files)?;
    let ours: Vec<Algorithm> =
        Algorithm::all().filter(|it| contends(&scenarios, it.name())).collect();
    let _registered = Algorithms::register(&ours)?;
    let options = Options { output: None, files: Files::default(), controls: Controls::default() };
    for comparison in sim::run(&scenarios, &options)?.comparisons {
        let scenario = &comparison.scenario;
        println!("{}", scenario.title);
        let repetitions = 0..scenario.repetitions as usize;
        let real: Vec<Vec<[f64; 2]>> =
            repetitions.map(|number| play_all(scenario, number)).collect::<Outcome<_>>()?;
        for (place, contender) in scenario.contenders.iter().enumerate() {
            let plays = comparison.plays.iter().filter(|play| play.contender == *contender);
            let simulated: Vec<[f64; 2]> = plays
                .map(|play| [0, 1].map(|flow| play.flows[flow].goodput.unwrap_or(0.0)))
                .collect();
            let kernel: Vec<[f64; 2]> = real.iter().map(|all| all[place]).collect();
            println!("  {contender}: kernel {}; simulator {}", told(&kernel), told(&simulated));
        }
    }
    Ok(())
}

fn contends(scenarios: &[Scenario], name: &str) -> bool {
    let mut contenders = scenarios.iter().flat_map(|scenario| &scenario.contenders);
    contenders.any(|contender| contender.name() == name)
}

/// Goodputs of both flows and Jain's index, each with its 95 % interval.
fn told(goodputs: &[[f64; 2]]) -> String {
    let estimate = |of: &dyn Fn(&[f64; 2]) -> f64, digits: usize| {
        let Some(Estimate { value, half_width }) =
            mean(&goodputs.iter().map(of).collect::<Vec<_>>())
        else {
            return "-".into();
        };
        format!("{value:.digits$} ± {:.digits$}", half_width.unwrap_or(f64::NAN))
    };
    format!(
        "{} and {} Mbit/s, index {} (n = {})",
        estimate(&|both| both[0] / 1e6, 1),
        estimate(&|both| both[1] / 1e6, 1),
        estimate(&|both| fairness(both).unwrap_or(f64::NAN), 3),
        goodputs.len(),
    )
}

/// Every contender at the same time, each on paths of its own: what both flows carried, bit/s.
fn play_all(scenario: &Scenario, repetition: usize) -> Outcome<Vec<[f64; 2]>> {
    let networks: Vec<Network> = scenario
        .contenders
        .iter()
        .map(|_| Network::create(scenario, repetition))
        .collect::<Outcome<_>>()?;
    let played = thread::scope(|scope| -> Outcome<Vec<[f64; 2]>> {
        let runs: Vec<_> = networks
            .iter()
            .zip(&scenario.contenders)
            .map(|(network, contender)| {
                scope.spawn(|| network.play(*contender, scenario, repetition))
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("no panic")).collect()
    })?;
    for Network { shared, second } in networks {
        if ![shared.finish()?, second.finish()?].iter().all(|report| report.held) {
            eprintln!("WARNING: the machine did not keep up with the paths");
        }
    }
    Ok(played)
}

/// The shared path and the second server's link.
struct Network {
    shared: Emulated,
    second: Emulated,
}

impl Network {
    fn create(scenario: &Scenario, repetition: usize) -> Outcome<Network> {
        let seed = scenario.seed + repetition as u64;
        let link = |name: &str| {
            let link = scenario.links.iter().find(|link| link.name == name);
            link.map(|link| &link.path).ok_or(format!("no link {name}"))
        };
        let shared = Emulated::create(link("shared")?, seed, "shared")?;
        let second = Emulated::create(link("second")?, seed, "second")?;
        let (near, far) = (shared.sender(), second.receiver());
        ip(near, &format!("link add joint type veth peer name joint netns {}", far.name()))?;
        for (namespace, address) in [(near, NEAR), (far, FAR)] {
            ip(namespace, &format!("address add {address}/30 dev joint"))?;
            ip(namespace, "link set joint up")?;
            namespace.set_sysctl("net.ipv4.ip_forward", "1")?;
        }
        let (client, server) = (shared.receiver(), second.sender());
        ip(near, &format!("route add {} via {FAR}", server.address()))?;
        ip(far, &format!("route add {} via {NEAR}", client.address()))?;
        for end in [client, server] {
            ip(end, "route add default dev kirikae0")?;
        }
        client.set_sysctl("net.ipv4.tcp_rmem", "4096 2097152 6291456")?;
        Ok(Network { shared, second })
    }

    fn play(
        &self,
        contender: Contender,
        scenario: &Scenario,
        repetition: usize,
    ) -> Outcome<[f64; 2]> {
        let duration = Duration::from_nanos(scenario.duration.unwrap_or_default().as_nanos());
        let client = self.shared.receiver();
        let listeners = PORTS.map(|port| {
            let address = SocketAddrV4::new(client.address(), port);
            client.run_in(|| TcpListener::bind(address).map(|listener| (listener, address)))
        });
        let servers = [self.shared.sender(), self.second.sender()];
        let end = Instant::now() + duration;
        let rates = thread::scope(|scope| -> Outcome<Vec<f64>> {
            let mut receivers = Vec::new();
            for (flow, (listener, server)) in listeners.into_iter().zip(servers).enumerate() {
                let (listener, address) = listener??;
                let socket = server.run_in(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
                socket.set_tcp_congestion(contender.congestion_control().as_bytes())?;
                let later = flow as f64 * STAGGER[repetition % STAGGER.len()];
                scope.spawn(move || {
                    thread::sleep(Duration::from_secs_f64(later));
                    // A connection ends with the run.
                    let _ = socket.connect(&address.into()).and_then(|()| send(socket.into(), end));
                });
                receivers.push(scope.spawn(move || receive(&listener, end)));
            }
            receivers.into_iter().map(|it| Ok(it.join().expect("no panic")?)).collect()
        })?;
        Ok([rates[0], rates[1]])
    }
}

/// Writes until the end.
fn send(mut stream: TcpStream, end: Instant) -> std::io::Result<()> {
    stream.set_write_timeout(Some(Duration::from_millis(100)))?;
    let block = [0; 65_536];
    while Instant::now() < end {
        match stream.write(&block) {
            Err(error) if !is_time_to_look(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A time-out is over, or it ended early because the process was stopped and continued.
fn is_time_to_look(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// What arrives from the first connection until the end, in bit/s.
fn receive(listener: &TcpListener, end: Instant) -> std::io::Result<f64> {
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    let began = Instant::now();
    let (mut block, mut bytes) = (vec![0; 1 << 18], 0);
    while Instant::now() < end {
        match stream.read(&mut block) {
            Ok(0) => break,
            Ok(read) => bytes += read,
            Err(error) if is_time_to_look(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(8.0 * bytes as f64 / began.elapsed().as_secs_f64())
}

/// iproute2 in a namespace.
fn ip(namespace: &Namespace, arguments: &str) -> Outcome<()> {
    let words = arguments.split_whitespace();
    let output = Command::new("ip").args(["-n", namespace.name()]).args(words).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("ip -n {} {arguments}: {said}", namespace.name()).into())
}
