//! Every algorithm in the kernel, and data over it.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use kirikae_agent::Algorithms;
use kirikae_algorithms::Algorithm;
use socket2::{Domain, SockRef, Socket, Type};

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const BYTES: usize = 2_000_000;

/// Registers each, sends over it, checks every byte, takes it out again. Returns how many there are.
pub fn carry_data() -> anyhow::Result<usize> {
    for algorithm in Algorithm::all() {
        carries(algorithm).with_context(|| algorithm.name())?;
    }
    Ok(Algorithm::all().count())
}

fn carries(algorithm: Algorithm) -> anyhow::Result<()> {
    let name = algorithm.name();
    let registered = Algorithms::register(&[algorithm])?;
    let (used, received) = transfer(name)?;
    ensure!(used == name, "asked for it, got {used}");
    ensure!(received == data(), "not the bytes that were sent");
    drop(registered);
    let available = fs::read_to_string(AVAILABLE)?;
    ensure!(!available.split_whitespace().any(|other| other == name), "registered afterwards");
    Ok(())
}

/// Bytes that differ from one place to the next.
fn data() -> Vec<u8> {
    (0..BYTES as u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect()
}

/// Sends over loopback; the congestion control at the end, and what arrived.
fn transfer(algorithm: &str) -> anyhow::Result<(String, Vec<u8>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_tcp_congestion(algorithm.as_bytes())?;
    socket.connect(&listener.local_addr()?.into())?;
    let (mut far, _) = listener.accept()?;
    let mut near = TcpStream::from(socket);
    let reader = thread::spawn(move || -> std::io::Result<Vec<u8>> {
        let mut received = Vec::new();
        far.read_to_end(&mut received)?;
        Ok(received)
    });
    for piece in data().chunks(BYTES / 10) {
        near.write_all(piece)?;
        // Several round trips.
        thread::sleep(Duration::from_millis(20));
    }
    let used = SockRef::from(&near).tcp_congestion()?;
    drop(near);
    let received = reader.join().expect("reading does not panic")?;
    Ok((String::from_utf8_lossy(&used).trim_end_matches('\0').to_owned(), received))
}
