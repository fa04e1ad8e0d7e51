//! Networks on the real kernel: who reaches whom, over what, and what the links say of it. These tests
//! need root.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use kirikae_checks::{Need, can_run};
use kirikae_emu::{Network, NetworkSpec, RouteSpec, RunningNetwork};
use kirikae_path::{
    Direction, DropCause, ElementSpec, Hop, Intervals, OutageSpec, PathSpec, QueueLimit, Span, Time,
};

fn privileged() -> bool {
    can_run(&[Need::Root, Need::Tun])
}

fn delay(millis: u64) -> ElementSpec {
    ElementSpec::Delay { delay: Span::from_millis(millis) }
}

fn route(from: usize, to: usize, links: &[usize], direction: Direction) -> RouteSpec {
    let hops = links.iter().map(|&link| Hop { link, direction }).collect();
    RouteSpec { from, to, hops }
}

/// Two clients, 0 and 1, and two servers, 2 and 3. Client 0 takes both links to server 2, client 1 the
/// second alone to server 3.
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

/// A UDP socket at the host of this place.
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
    for (client, server, millis) in [(0, 2, 65), (1, 3, 25)] {
        let address = (network.hosts()[server].address(), 5000);
        let mut round_trips: Vec<Duration> = (0..5u8)
            .map(|n| {
                let (start, mut byte) = (Instant::now(), [0]);
                sockets[client].send_to(&[n], address).unwrap();
                let (_, from) = sockets[server].recv_from(&mut byte).unwrap();
                sockets[server].send_to(&byte, from).unwrap();
                sockets[client].recv(&mut byte).unwrap();
                assert_eq!(byte, [n]);
                start.elapsed()
            })
            .collect();
        round_trips.sort();
        // Never earlier; the upper bound only tells it from the other route on a busy machine.
        let expected = Duration::from_millis(millis);
        assert!(round_trips[0] >= expected, "{round_trips:?}");
        assert!(round_trips[2] < expected + Duration::from_millis(15), "{round_trips:?}");
    }
    // Nobody has a route from one client to the other.
    sockets[0].send_to(&[9], (network.hosts()[1].address(), 5000)).unwrap();

    let reports = network.finish().unwrap();
    let [first, second] = &reports[..] else { panic!("two links") };
    for (direction, packets) in [(&first.forward, 5), (&second.backward, 10)] {
        assert_eq!((direction.offered, direction.delivered), (packets, packets));
        assert_eq!((direction.inside, direction.device_drops), (0, 0));
    }
}

#[test]
fn hosts_share_a_links_queue() {
    if !privileged() {
        return;
    }
    // 1000 bytes take 8 ms; two packets may wait. Both clients send four at once.
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
    let reports = network.finish().unwrap();
    let shared = &reports[1].forward;
    // One is sent, two wait; whether another has left before the last ones come is the machine's to say.
    let dropped = shared.dropped[&DropCause::QueueFull];
    assert_eq!((shared.offered, shared.delivered + dropped), (8, 8));
    assert!((3..=5).contains(&dropped), "{shared:?}");
    let numbers: Vec<u64> = reports[1].drops.iter().map(|drop| drop.number).collect();
    assert_eq!(numbers.len() as u64, dropped);
    assert!(numbers.is_sorted() && numbers.contains(&3), "{numbers:?}");
}

#[test]
fn the_links_time_begins_when_it_is_to() {
    if !privileged() {
        return;
    }
    // Nothing passes in the first 50 ms of the links' time, which begins 100 ms from now.
    let end = Time::ZERO + Span::from_millis(50);
    let when = Intervals { intervals: vec![(Time::ZERO, end)], every: None };
    let outage = ElementSpec::Outage(OutageSpec { when, hold: true });
    let shared = PathSpec { forward: vec![outage], backward: vec![] };
    let network = Network::create(&parking_lot(PathSpec::default(), shared), 1, "later").unwrap();
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap();
    let start = Duration::from(now) + Duration::from_millis(100);
    let begun = Instant::now();
    let network = network.start(Some(start.as_nanos() as u64)).unwrap();
    let [client, server] = [1, 3].map(|host| socket(&network, host));
    client.send_to(&[7], (network.hosts()[3].address(), 5000)).unwrap();
    server.recv(&mut [0]).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(149), "{:?}", begun.elapsed());
    network.finish().unwrap();
}
