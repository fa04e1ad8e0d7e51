//! A connection over loopback and its two ends.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use std::{slice, thread};

use kirikae_agent::{Agent, Connection};
use nix::sys::socket::getsockopt;
use socket2::{Domain, Socket, Type};

use crate::common;

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);

mod option {
    use nix::libc;

    // It is in microseconds, and readable since Linux 6.15.
    const TCP_RTO_MIN_US: libc::c_int = 45;
    #[derive(Clone, Copy, Debug)]
    pub struct RtoMin;
    nix::getsockopt_impl!(
        RtoMin,
        libc::IPPROTO_TCP,
        TCP_RTO_MIN_US,
        u32,
        nix::sys::socket::sockopt::GetStruct<u32>
    );
}

pub struct Pair {
    pub near: TcpStream,
    pub far: TcpStream,
}

impl Pair {
    /// Connects to an address of this host. For an IPv4 address in IPv6 the listener is IPv4.
    pub fn open(host: &str) -> Pair {
        let host: IpAddr = host.parse().unwrap();
        let listener = TcpListener::bind((host.to_canonical(), 0)).unwrap();
        Pair::open_to(&listener, host, None)
    }

    /// Connects with an algorithm that the program chooses.
    pub fn open_with(algorithm: &str) -> Pair {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Pair::open_to(&listener, "127.0.0.1".parse().unwrap(), Some(algorithm))
    }

    pub fn open_to(listener: &TcpListener, host: IpAddr, algorithm: Option<&str>) -> Pair {
        let remote = SocketAddr::new(host, listener.local_addr().unwrap().port());
        let near = Socket::new(Domain::for_address(remote), Type::STREAM, None).unwrap();
        if let Some(name) = algorithm {
            near.set_tcp_congestion(name.as_bytes()).unwrap();
        }
        near.connect(&remote.into()).unwrap();
        Pair { near: near.into(), far: listener.accept().unwrap().0 }
    }

    /// Sends 10 KB there and back.
    pub fn burst(&mut self) {
        let chunk = [7u8; 10_000];
        let mut received = [0; 10_000];
        self.near.write_all(&chunk).unwrap();
        self.far.read_exact(&mut received).unwrap();
        self.far.write_all(&chunk).unwrap();
        self.near.read_exact(&mut received).unwrap();
        assert_eq!(received, chunk);
    }

    /// Talks until the condition holds.
    pub fn talk_until(&mut self, what: &str, mut is_so: impl FnMut(&Pair) -> bool) {
        talk_until(slice::from_mut(self), what, |pairs| is_so(&pairs[0]));
    }

    pub fn algorithm(&self) -> String {
        common::algorithm(&self.near)
    }

    /// Whether one of ours is in use.
    pub fn is_switched(&self) -> bool {
        is_ours(&self.near)
    }
}

pub fn is_ours(stream: &TcpStream) -> bool {
    common::algorithm(stream).starts_with("kk_")
}

/// The lower bound of the variance term in the retransmission timeout. None if the kernel does not tell.
fn rto_min(stream: &TcpStream) -> Option<Duration> {
    let us = getsockopt(stream, option::RtoMin).ok()?;
    Some(Duration::from_micros(us.into()))
}

/// Whether the timer is the kernel's, as far as can be known.
pub fn has_kernel_timer(stream: &TcpStream) -> bool {
    rto_min(stream).is_none_or(|min| min == Duration::from_millis(200))
}

/// Whether the timer is ours, as far as can be known.
pub fn has_our_timer(stream: &TcpStream) -> bool {
    rto_min(stream).is_none_or(|min| min < Duration::from_millis(100))
}

/// Talks on all of them in turn until the condition holds.
pub fn talk_until(pairs: &mut [Pair], what: &str, mut is_so: impl FnMut(&[Pair]) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so(pairs) {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        pairs.iter_mut().for_each(Pair::burst);
        thread::sleep(Duration::from_millis(5));
    }
}

/// How the agent sees one end of a connection.
pub fn seen(agent: &Agent, stream: &TcpStream) -> Option<Connection> {
    let on_the_wire =
        |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let local = on_the_wire(stream.local_addr().unwrap());
    let remote = on_the_wire(stream.peer_addr().unwrap());
    let connections = agent.connections().unwrap();
    connections.into_iter().find(|it| it.local == local && it.remote == remote)
}
