//! Tests networks on the real kernel: which hosts reach each other, over which links, and what the links
//! report. They need root.

mod common;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use kirikae_emu::{Network, NetworkSpec, RouteSpec, RunningNetwork};
use kirikae_path::{
    Direction, DropCause, ElementSpec, Hop, Intervals, OutageSpec, PathSpec, QueueLimit, Span, Time,
};
use kirikae_vocabulary::Report;

use common::{delay, privileged, receive, round_trips};

fn route(from: usize, to: usize, links: &[usize], direction: Direction) -> RouteSpec {
    let hops = links.iter().map(|&link| Hop { link, direction }).collect();
    RouteSpec { from, to, hops }
}

/// Two clients, 0 and 1, and two servers, 2 and 3. Client 0 takes both links to server 2; client 1 takes only
/// the second, to server 3.
fn parking_lot(first: PathSpec, second: PathSpec) -> NetworkSpec {
    NetworkSpec {
        hosts: ["client-0", "client-1", "server-0", "server-1"].map(String::from).into(),
        links: vec![first, second],
        routes: vec![
            route(0, 2, &[0, 1], Direction::Forward),
            route(2, 0, &[1, 0], Direction::Backward),
            route(1, 3, &[1], Direction::Forward),
            route(3, 1, &[1], Direction::Backward),
        ],
    }
}

/// A UDP socket at the host with this index.
fn socket(network: &RunningNetwork, host: usize) -> UdpSocket {
    let host = &network.hosts()[host];
    let bind = || UdpSocket::bind((host.address(), 5000)).unwrap();
    let socket = host.run_in(bind).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    socket
}

#[test]
fn a_packet_takes_the_links_of_its_route() {
    if !privileged() {
        return;
    }
    let first = PathSpec { forward: vec![delay(30)], backward: vec![delay(10)] };
    let second = PathSpec { forward: vec![delay(20)], backward: vec![delay(5)] };
    let network = Network::create(&parking_lot(first, second), 1, "parking lot").unwrap();
    let network = network.start(None).unwrap();
    let sockets: Vec<UdpSocket> = (0..4).map(|host| socket(&network, host)).collect();
    let mut sent = Vec::new();
    for (client, server, millis) in [(0, 2, 65), (1, 3, 25)] {
        let address = (network.hosts()[server].address(), 5000);
        sent.push(round_trips(Duration::from_millis(millis), |n| {
            let (start, mut byte) = (Instant::now(), [0]);
            sockets[client].send_to(&[n], address).unwrap();
            let from = receive(&sockets[server], &mut byte);
            sockets[server].send_to(&byte, from).unwrap();
            receive(&sockets[client], &mut byte);
            assert_eq!(byte, [n]);
            start.elapsed()
        }));
    }
    // There is no route from one client to the other.
    sockets[0].send_to(&[9], (network.hosts()[1].address(), 5000)).unwrap();

    let reports = network.finish().unwrap();
    let [first, second] = &reports[..] else { panic!("two links") };
    for (direction, packets) in [(&first.forward, sent[0]), (&second.backward, sent[0] + sent[1])] {
        assert_eq!((direction.offered, direction.delivered), (packets, packets));
        assert_eq!((direction.inside, direction.device_drops), (0, 0));
    }
}

#[test]
fn hosts_share_a_links_queue() {
    if !privileged() {
        return;
    }
    // If this process was stopped meanwhile, the queue was empty in between, or is not empty yet: then a
    // packet left late, or is inside.
    let in_time = (0..20).any(|_| {
        let report = shared_queue();
        let shared = &report.forward;
        // One packet is sent, and two wait. Whether another has left before the last ones come depends on the
        // machine.
        let dropped = shared.dropped[&DropCause::QueueFull];
        let is_right = shared.delivered + dropped == 8 && (3..=5).contains(&dropped);
        assert!(is_right || shared.inside > 0 || shared.timing_error.max_us > 500.0, "{shared:?}");
        let numbers: Vec<u64> = report.drops.iter().map(|drop| drop.number).collect();
        assert_eq!((shared.offered, numbers.len() as u64), (8, dropped));
        assert!(!is_right || numbers.is_sorted() && numbers.contains(&3), "{numbers:?}");
        is_right
    });
    assert!(in_time, "the link always fell behind");
}

/// The report of a link over which two clients sent four packets each at once.
fn shared_queue() -> Report {
    // 1000 bytes take 8 ms, and two packets may wait.
    let queue = QueueLimit::Packets(2);
    let rate = ElementSpec::Rate { bits_per_second: 1_000_000, limit: queue };
    let shared = PathSpec { forward: vec![rate], backward: vec![] };
    let network = Network::create(&parking_lot(PathSpec::default(), shared), 1, "shared").unwrap();
    let network = network.start(None).unwrap();
    for (client, server) in [(0, 2), (1, 3)] {
        let socket = socket(&network, client);
        let address = (network.hosts()[server].address(), 5000);
        for _ in 0..4 {
            socket.send_to(&[0; 972], address).unwrap();
        }
    }
    std::thread::sleep(Duration::from_millis(100));
    network.finish().unwrap().swap_remove(1)
}

#[test]
fn the_links_time_begins_when_it_is_to() {
    if !privileged() {
        return;
    }
    // Nothing passes in the first 50 ms of the links' time, which begins in 100 ms.
    let end = Time::ZERO + Span::from_millis(50);
    let when = Intervals { intervals: vec![(Time::ZERO, end)], every: None };
    let outage = ElementSpec::Outage(OutageSpec { when, hold: true, carrier: false });
    let shared = PathSpec { forward: vec![outage], backward: vec![] };
    let network = Network::create(&parking_lot(PathSpec::default(), shared), 1, "later").unwrap();
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap();
    let start = Duration::from(now) + Duration::from_millis(100);
    let begun = Instant::now();
    let network = network.start(Some(start.as_nanos() as u64)).unwrap();
    let [client, server] = [1, 3].map(|host| socket(&network, host));
    client.send_to(&[7], (network.hosts()[3].address(), 5000)).unwrap();
    receive(&server, &mut [0]);
    assert!(begun.elapsed() >= Duration::from_millis(149), "{:?}", begun.elapsed());
    network.finish().unwrap();
}
