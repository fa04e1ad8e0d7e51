//! Whether every BPF object loads and carries traffic on a kernel.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::ensure;
use kirikae_agent::{Agent, Algorithms, Config, Pinning};
use kirikae_algorithms::Algorithm;
use kirikae_policy::{Policy, Scope};
use socket2::{Domain, Socket, Type};

use crate::guest::Guest;
use crate::kernel::Kernel;

/// Check that every BPF object loads and carries traffic on other kernels
///
/// In a guest for each kernel: registers every algorithm, sends data over it and checks every byte,
/// takes the algorithms out again; then, from Linux 6.4 on, has the switcher switch a connection
/// and put it back.
#[derive(clap::Args)]
pub struct Arguments {
    /// Kernel series, as Debian packages them
    #[arg(default_values = ["6.1", "6.12"])]
    kernels: Vec<String>,
}

const TIMEOUT: Duration = Duration::from_secs(120);

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut status = ExitCode::SUCCESS;
    for series in &arguments.kernels {
        let kernel = Kernel::of_series(series)?;
        println!("Linux {}", kernel.release());
        let guest = Guest {
            kernel: &kernel,
            modules: &[],
            arguments: &["carry-inside".into()],
            timeout: TIMEOUT,
        };
        let carried = guest.run(&mut |line| {
            println!("  {line}");
            Ok(())
        });
        if let Err(error) = carried {
            println!("  {error:#}");
            status = ExitCode::FAILURE;
        }
    }
    Ok(status)
}

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const BYTES: usize = 2_000_000;

pub fn inside() -> anyhow::Result<()> {
    // A guest's loopback is down until somebody needs it.
    let up = std::process::Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
    ensure!(up.success(), "ip link set lo up failed");

    let mut failed = Vec::new();
    for algorithm in Algorithm::all() {
        match carry(algorithm) {
            Ok(()) => println!("{} registered and carried {BYTES} bytes", algorithm.name()),
            Err(error) => {
                println!("{} FAILED: {error:#}", algorithm.name());
                failed.push(algorithm.name());
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));

    if let Err(refusal) = kirikae_agent::requirements() {
        println!("no switcher: {refusal}");
        return Ok(());
    }
    let agent = Agent::start(&Config {
        cgroup: "/sys/fs/cgroup".into(),
        // Over loopback.
        policy: Policy::one(Scope {
            least_rtt: Duration::ZERO,
            ..Scope::new(kirikae_table::usual().kernel_table().into())
        }),
        algorithms: Algorithm::all().collect(),
        adopt: None,
        pinning: Pinning::Unpinned,
        are_calls_recorded: false,
    })?;
    let (used, received) = transfer(None, BYTES)?;
    ensure!(used.starts_with("kk_"), "not switched: {used}");
    ensure!(received == data(BYTES), "switched: not the bytes that were sent");
    let mut switches = 0;
    agent.poll(Duration::from_millis(100), &mut |_| switches += 1)?;
    ensure!(switches > 0, "no switch was reported");
    agent.stop()?;
    println!("switcher loaded and switched a connection to {used}");
    Ok(())
}

/// Registers an algorithm, sends over it, and takes it out again.
fn carry(algorithm: Algorithm) -> anyhow::Result<()> {
    let name = algorithm.name();
    let registered = Algorithms::register(&[algorithm])?;
    let (used, received) = transfer(Some(name), BYTES)?;
    ensure!(used == name, "asked for it, got {used}");
    ensure!(received == data(BYTES), "not the bytes that were sent");
    drop(registered);
    let available = fs::read_to_string(AVAILABLE)?;
    ensure!(!available.split_whitespace().any(|other| other == name), "registered afterwards");
    Ok(())
}

/// Bytes that differ from one place to the next.
fn data(length: usize) -> Vec<u8> {
    (0..length as u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect()
}

/// Sends over loopback; the congestion control at the end, and what arrived.
fn transfer(algorithm: Option<&str>, length: usize) -> anyhow::Result<(String, Vec<u8>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    if let Some(name) = algorithm {
        socket.set_tcp_congestion(name.as_bytes())?;
    }
    socket.connect(&listener.local_addr()?.into())?;
    let (mut far, _) = listener.accept()?;
    let mut near = TcpStream::from(socket);
    let reader = thread::spawn(move || -> std::io::Result<Vec<u8>> {
        let mut received = Vec::new();
        far.read_to_end(&mut received)?;
        Ok(received)
    });
    for piece in data(length).chunks(length / 10) {
        near.write_all(piece)?;
        // Several round trips and measuring periods.
        thread::sleep(Duration::from_millis(20));
    }
    let used = socket2::SockRef::from(&near).tcp_congestion()?;
    drop(near);
    let received = reader.join().expect("reading does not panic")?;
    Ok((String::from_utf8_lossy(&used).trim_end_matches('\0').to_owned(), received))
}
