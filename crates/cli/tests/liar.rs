//! Tests a peer that ACKs what was never sent to it, and what it has not received.
//!
//! The peer's socket is taken over by another of the same ends, which is told that it has received more
//! (TCP_REPAIR), and so says it with all that it sends. One test function: the host has one agent at a time.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, setsockopt};
use socket2::{Domain, SockFilter, SockRef, Socket, Type};

use common::{OwnCgroup, RunningAgent, algorithm, privileged, ss};

/// Classic BPF, `ret #0`: the socket gets nothing.
const DROP: SockFilter = SockFilter::new(6, 0, 0, 0);
const PATIENCE: Duration = Duration::from_secs(20);

mod option {
    use nix::libc;
    use nix::sys::socket::sockopt::{GetStruct, SetStruct};

    /// `struct tcp_repair_window` of linux/tcp.h: the windows of both directions.
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct Windows {
        pub snd_wl1: u32,
        pub snd_wnd: u32,
        pub max_window: u32,
        pub rcv_wnd: u32,
        pub rcv_wup: u32,
    }

    macro_rules! option {
        ($name:ident, $number:path, $value:ty) => {
            #[derive(Clone, Copy, Debug)]
            pub struct $name;
            nix::getsockopt_impl!($name, libc::IPPROTO_TCP, $number, $value, GetStruct<$value>);
            nix::setsockopt_impl!($name, libc::IPPROTO_TCP, $number, $value, SetStruct<$value>);
        };
    }
    option!(Repair, libc::TCP_REPAIR, u32);
    option!(RepairQueue, libc::TCP_REPAIR_QUEUE, u32);
    option!(QueueSequence, libc::TCP_QUEUE_SEQ, u32);
    option!(RepairWindow, libc::TCP_REPAIR_WINDOW, Windows);
}

const RECEIVED: u32 = 1;
const SENT: u32 = 2;
/// Turns repair off without the kernel's sending anything.
const REPAIR_OFF_SILENTLY: u32 = u32::MAX;

/// Replaces the peer's socket by one with the same ends that claims to have received `more` bytes more.
fn claiming(peer: TcpStream, more: u32) -> TcpStream {
    let ends = [peer.local_addr().unwrap(), peer.peer_addr().unwrap()].map(SocketAddr::into);
    setsockopt(&peer, option::Repair, &1).unwrap();
    let sequence = |queue: u32| {
        setsockopt(&peer, option::RepairQueue, &queue).unwrap();
        getsockopt(&peer, option::QueueSequence).unwrap()
    };
    let numbers = [SENT, RECEIVED].map(sequence);
    let windows = getsockopt(&peer, option::RepairWindow).unwrap();
    drop(peer);
    let liar = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    setsockopt(&liar, option::Repair, &1).unwrap();
    liar.set_reuse_address(true).unwrap();
    liar.bind(&ends[0]).unwrap();
    for (queue, number) in [(SENT, numbers[0]), (RECEIVED, numbers[1].wrapping_add(more))] {
        setsockopt(&liar, option::RepairQueue, &queue).unwrap();
        setsockopt(&liar, option::QueueSequence, &number).unwrap();
    }
    liar.connect(&ends[1]).unwrap();
    // Without these windows it has none to send in, and with half of all sequence numbers never gets one.
    setsockopt(&liar, option::RepairWindow, &windows).unwrap();
    setsockopt(&liar, option::Repair, &REPAIR_OFF_SILENTLY).unwrap();
    liar.into()
}

/// A number that `ss` says of the connection.
fn number(stream: &TcpStream, key: &str) -> u64 {
    let text = ss(stream);
    let word = text.split_whitespace().find_map(|word| word.strip_prefix(key));
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// A connection that is switched, and whose far end gets nothing any more.
fn switched_and_cut() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut far = listener.accept().unwrap().0;
    let deadline = Instant::now() + PATIENCE;
    while !algorithm(&near).starts_with("kk_") {
        assert!(Instant::now() < deadline, "it is not switched");
        near.write_all(&[7; 10_000]).unwrap();
        far.read_exact(&mut [0; 10_000]).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    SockRef::from(&far).attach_filter(&[DROP]).unwrap();
    (near, far)
}

#[test]
fn what_was_never_sent_is_not_taken_for_acked() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let agent = RunningAgent::start_inside(&cgroup);

    // It ACKs a megabyte that was never sent: the kernel drops all that it sends, its data too.
    let (mut near, far) = switched_and_cut();
    let before = (number(&near, "bytes_acked:"), number(&near, "cwnd:"), algorithm(&near));
    let mut liar = claiming(far, 1_000_000);
    liar.write_all(b"with an ACK of what was never sent").unwrap();
    near.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let nothing = near.read(&mut [0; 100]).unwrap_err();
    assert!(matches!(nothing.kind(), ErrorKind::WouldBlock), "{nothing}");
    let after = (number(&near, "bytes_acked:"), number(&near, "cwnd:"), algorithm(&near));
    assert_eq!(after, before);

    // It ACKs what was sent and never arrived: that is believed, and no byte more.
    let (mut near, far) = switched_and_cut();
    let acked = number(&near, "bytes_acked:");
    near.write_all(&[7; 5_000]).unwrap();
    let mut liar = claiming(far, 5_000);
    liar.write_all(b"with an ACK of what was sent").unwrap();
    near.set_read_timeout(Some(PATIENCE)).unwrap();
    near.read_exact(&mut [0; 28]).unwrap();
    assert_eq!(number(&near, "bytes_acked:"), acked + 5_000);
    assert!(algorithm(&near).starts_with("kk_"));
    agent.stop();
}
