//! Connections whose path was gone are made to send when an interface tells that it has a carrier again, and others
//! are not.
//!
//! It needs root and TUN devices. It is one test function, since the host can have one agent at a time.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_emu::Emulated;
use kirikae_path::{ElementSpec, Intervals, OutageSpec, PathSpec, QueueLimit, Span, Time};

use common::{OwnCgroup, RunningAgent, privileged_with_paths, ss};

/// What is sent at once.
const FEW: usize = 5_000;
/// More than an initial window: something waits.
const MANY: usize = 60_000;
/// What the test waits for takes this long at most.
const PATIENCE: Duration = Duration::from_secs(30);

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// A path of RTT 20 ms that is gone from 1 s to 3.4 s, and whose sender sees it or does not.
fn gone(carrier: bool) -> PathSpec {
    let when = Intervals { intervals: vec![(at(1_000), at(3_400))], every: None };
    let outage =
        |carrier| ElementSpec::Outage(OutageSpec { when: when.clone(), hold: false, carrier });
    let rate = ElementSpec::Rate { bits_per_second: 10_000_000, limit: QueueLimit::Packets(100) };
    let delay = ElementSpec::Delay { delay: Span::from_millis(10) };
    PathSpec {
        forward: vec![outage(carrier), rate, delay.clone()],
        backward: vec![outage(false), delay],
    }
}

/// The two ends of a connection over a path.
struct Connection {
    near: TcpStream,
    far: TcpStream,
}

impl Connection {
    fn over(path: &Emulated) -> Connection {
        let address = path.receiver().address();
        let listen = || TcpListener::bind((address, 0)).unwrap();
        let listener = path.receiver().run_in(listen).unwrap();
        let to = listener.local_addr().unwrap();
        let near = path.sender().run_in(|| TcpStream::connect(to).unwrap()).unwrap();
        Connection { near, far: listener.accept().unwrap().0 }
    }

    /// Writes while the path is gone, and reads what arrives in the end.
    fn survives(&mut self, bytes: usize) {
        thread::sleep(Duration::from_millis(1_200));
        let written = vec![7; bytes];
        self.near.write_all(&written).unwrap();
        self.far.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut received = vec![0; bytes];
        self.far.read_exact(&mut received).unwrap();
        assert_eq!(received, written);
    }
}

/// How often connections were made to send, once it is at least so often. The agent counts once a second, and what it
/// counts next is in it, too.
fn revived(agent: &RunningAgent, at_least: u64) -> u64 {
    let begun = Instant::now();
    while agent.status().revived < at_least && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_millis(1_500));
    agent.status().revived
}

/// IP_RECVERR: the program wants to be told of ICMP messages as of errors.
fn tell_errors(stream: &TcpStream) {
    use nix::sys::socket::{setsockopt, sockopt};
    setsockopt(stream, sockopt::Ipv4RecvErr, &true).unwrap();
}

#[test]
fn connections_send_when_their_carrier_is_back_and_others_do_not() {
    if !privileged_with_paths() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let agent = RunningAgent::start_inside(&cgroup);

    // Nobody hears of the path's end: the timer alone brings the data.
    let path = Emulated::create(&gone(false), 1, "unseen").unwrap();
    Connection::over(&path).survives(FEW);
    assert_eq!(revived(&agent, 0), 0);
    path.finish().unwrap();

    // A program that wants to be told of ICMP messages is not sent any.
    let path = Emulated::create(&gone(true), 1, "errors").unwrap();
    let mut connection = Connection::over(&path);
    tell_errors(&connection.near);
    connection.survives(FEW);
    assert_eq!(revived(&agent, 0), 0);
    assert!(connection.near.take_error().unwrap().is_none());
    drop(connection);
    path.finish().unwrap();

    // Where something waits it is let out in place of a message. The host's algorithm has given way to kk_cubic, which
    // begins anew.
    let path = Emulated::create(&gone(true), 1, "waits").unwrap();
    let mut connection = Connection::over(&path);
    tell_errors(&connection.near);
    connection.survives(MANY);
    assert_eq!(revived(&agent, 1), 1, "{}", path.sender().run_in(|| ss(&connection.near)).unwrap());
    assert!(connection.near.take_error().unwrap().is_none());
    drop(connection);
    path.finish().unwrap();

    // The agent looks for new namespaces each second, and has to have seen this one.
    let path = Emulated::create(&gone(true), 1, "seen").unwrap();
    let mut connection = Connection::over(&path);
    connection.survives(FEW);
    assert!(revived(&agent, 2) > 1, "{}", path.sender().run_in(|| ss(&connection.near)).unwrap());
    assert!(connection.near.take_error().unwrap().is_none());
    drop(connection);
    path.finish().unwrap();
    agent.stop();
}
