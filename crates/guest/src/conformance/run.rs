//! One transfer over an emulated path.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::ensure;
use kirikae_emu::Emulated;
use kirikae_path::{DropCause, ElementSpec, PathSpec, QueueLimit, Span};
use serde::{Deserialize, Serialize};
use socket2::{Domain, SockRef, Socket, Type};

use super::rounds::{Counter, Rounds};
use crate::system::tcp_info;

/// The paths, both with a round trip of 100 ms and a queue that never drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// 50 Mb/s, 416 packets under way: most windows stay below, so that loss alone shapes them.
    Wide,
    /// 10 Mb/s, 83 packets under way: windows above fill the queue, so that delay counts too.
    Narrow,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Route::Wide => "wide",
            Route::Narrow => "narrow",
        })
    }
}

const ROUND_TRIP: Duration = Duration::from_millis(100);
/// How often in a round trip the socket is looked at: a round is seen to end 2 % late at most.
const LOOKS: u32 = 50;
/// Payload of a full segment: 1500 bytes less the IP and TCP headers and the timestamp option.
const SEGMENT: usize = 1448;
/// Room for more than any window here.
const BUFFERS: &str = "4096 16777216 16777216";

/// What is sent, and what becomes of it.
pub struct Plan {
    bits_per_second: u64,
    /// Numbers of the sender's packets; the SYN is number 0.
    lost: Vec<u64>,
    segments: usize,
}

impl Route {
    /// One packet ends slow start (unless HyStart is to), one is lost in congestion avoidance, then
    /// four in a row.
    pub fn plan(self, short: bool, hystart: bool) -> Plan {
        let bits_per_second = match self {
            Route::Wide => 50_000_000,
            Route::Narrow => 10_000_000,
        };
        let third = if short { 2000 } else { 4000 };
        let mut lost = if hystart { vec![third] } else { vec![60, third] };
        lost.extend((0..4).map(|n| 2 * third + n));
        Plan { bits_per_second, lost, segments: 3 * third as usize }
    }
}

impl Plan {
    fn path(&self) -> PathSpec {
        let delay =
            ElementSpec::Delay { delay: Span::from_millis(ROUND_TRIP.as_millis() as u64 / 2) };
        let rate = ElementSpec::Rate {
            bits_per_second: self.bits_per_second,
            limit: QueueLimit::Packets(100_000),
        };
        let loss = ElementSpec::ListedLoss { packets: self.lost.clone() };
        PathSpec { forward: vec![loss, rate, delay.clone()], backward: vec![delay] }
    }
}

/// Sends as planned, over a path and in network namespaces of its own.
pub fn run(algorithm: &str, plan: &Plan) -> anyhow::Result<Rounds> {
    let path = Emulated::create(&plan.path(), 0, algorithm)?;
    path.sender().set_sysctl("net.ipv4.tcp_wmem", BUFFERS)?;
    path.receiver().set_sysctl("net.ipv4.tcp_rmem", BUFFERS)?;
    let (near, far) = connect(&path, algorithm)?;

    let data = vec![0; plan.segments * SEGMENT];
    let mut counter = Counter::default();
    let received = thread::scope(|scope| -> anyhow::Result<u64> {
        let reader = scope.spawn(|| read_to_end(far));
        let writer = scope.spawn(|| (&near).write_all(&data));
        // Until the last segment has been sent once: windows are no longer filled then.
        while counter.sent < data.len() as u64 {
            counter.see(&tcp_info(&near)?);
            thread::sleep(ROUND_TRIP / LOOKS);
        }
        writer.join().expect("writing does not panic")?;
        near.shutdown(Shutdown::Write)?;
        Ok(reader.join().expect("reading does not panic")?)
    })?;

    let report = path.finish()?;
    let lost = report.forward.dropped.get(&DropCause::Listed).copied().unwrap_or_default();
    ensure!(received == data.len() as u64, "not everything arrived: {received} bytes");
    ensure!(lost == plan.lost.len() as u64, "not all that was to be lost was sent: {lost} packets");
    ensure!(report.held, "the emulator fell behind");
    Ok(counter.rounds)
}

/// The sending and the receiving end.
fn connect(path: &Emulated, algorithm: &str) -> anyhow::Result<(TcpStream, TcpStream)> {
    let address = SocketAddr::from((path.receiver().address(), 5000));
    let listener = path.receiver().run_in(|| TcpListener::bind(address))??;
    let near = path.sender().run_in(|| -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_congestion(algorithm.as_bytes())?;
        socket.connect(&address.into())?;
        Ok(socket)
    })??;
    let (far, _) = listener.accept()?;
    let used = SockRef::from(&near).tcp_congestion()?;
    let used = String::from_utf8_lossy(&used);
    ensure!(used.trim_end_matches('\0') == algorithm, "the socket has {used}");
    Ok((near.into(), far))
}

fn read_to_end(mut stream: TcpStream) -> io::Result<u64> {
    let (mut buffer, mut received) = (vec![0; 1 << 18], 0);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(received),
            length => received += length as u64,
        }
    }
}
