//! Connections whose local address is gone are told of, and destroyed where the policy says so; others are not.
//!
//! It needs root and TUN devices. It is one test function, since the host can have one agent at a time. The
//! connections are over loopback, in two network namespaces of their own.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, SocketAddrV6, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_checks::{Need, has};
use nix::sched::{CloneFlags, unshare};
use socket2::{Domain, Socket, Type};

use common::{OwnCgroup, RunningAgent, privileged_with_paths};

/// What the test waits for takes this long at most.
const PATIENCE: Duration = Duration::from_secs(30);
/// The index of the loopback interface.
const LOOPBACK: u32 = 1;

const GONE: &str = "192.0.2.1";
const GONE_V6: &str = "fd00:6b6b::1";
const GONE_LINK_LOCAL: &str = "fe80::1";
const BACK: &str = "192.0.2.2";
const ELSEWHERE: &str = "192.0.2.3";
const ROUTED: &str = "192.0.2.4";

/// Connections to these are destroyed when their own address is gone ...
const FAR: &str = "192.0.2.9";
const FAR_V6: &str = "fd00:6b6b::9";
const FAR_LINK_LOCAL: &str = "fe80::9";
/// ... and this one is told of.
const FAR_TOLD: &str = "192.0.2.8";

fn ip(commands: &[String]) {
    let mut child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(commands.join("\n").as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "ip {commands:?}");
}

/// An address as `ip address` takes it.
fn on(command: &str, address: &str, interface: &str) -> String {
    let (bits, flags) = match (address.contains(':'), command) {
        (true, "add") => ("128", "nodad"),
        (true, _) => ("128", ""),
        (false, _) => ("32", ""),
    };
    format!("address {command} {address}/{bits} dev {interface} {flags}")
}

/// Enters a new namespace with these addresses on its loopback interface.
fn enter_a_namespace_with(addresses: &[&str]) {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    ip(&["link set lo up".into()]);
    ip(&addresses.iter().map(|address| on("add", address, "lo")).collect::<Vec<_>>());
}

/// The two ends of a connection.
struct Connection {
    near: TcpStream,
    far: TcpStream,
}

impl Connection {
    /// From one address of the namespace to another.
    fn between(near: &str, far: &str) -> Connection {
        let end = |address: &str| match address.parse().unwrap() {
            IpAddr::V6(ip) if ip.is_unicast_link_local() => {
                SocketAddr::from(SocketAddrV6::new(ip, 0, 0, LOOPBACK))
            }
            ip => SocketAddr::new(ip, 0),
        };
        // The kernel routes an IPv6 address a moment after it is added.
        let deadline = Instant::now() + PATIENCE;
        loop {
            let listener = TcpListener::bind(end(far)).unwrap();
            let to = listener.local_addr().unwrap();
            let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).unwrap();
            socket.bind(&end(near).into()).unwrap();
            match socket.connect(&to.into()) {
                Ok(()) => {
                    return Connection { near: socket.into(), far: listener.accept().unwrap().0 };
                }
                Err(error) => assert!(Instant::now() < deadline, "{near} to {far}: {error}"),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn works(&mut self) {
        self.far.set_read_timeout(Some(PATIENCE)).unwrap();
        self.near.write_all(&[7; 5]).unwrap();
        let mut received = [0; 5];
        self.far.read_exact(&mut received).unwrap();
        assert_eq!(received, [7; 5]);
    }

    fn is_destroyed(&mut self) {
        let told = self.near.read(&mut [0]).unwrap_err();
        assert_eq!(told.kind(), ErrorKind::ConnectionAborted, "{told}");
    }

    /// Nothing has happened to it, though it cannot send.
    fn waits(&mut self) {
        self.near.set_nonblocking(true).unwrap();
        let told = self.near.read(&mut [0]).unwrap_err();
        assert_eq!(told.kind(), ErrorKind::WouldBlock, "{told}");
    }
}

/// Waits until somebody listens to changes of this thread's namespace.
fn wait_for_the_agent() {
    let deadline = Instant::now() + PATIENCE;
    let is_heard = || {
        let sockets = std::fs::read_to_string("/proc/thread-self/net/netlink").unwrap();
        let mut fields = sockets.lines().skip(1).map(|line| line.split_whitespace().skip(1));
        // The protocol for routes, the port, and a bit for each group.
        fields.any(|mut it| {
            it.next() == Some("0") && it.nth(1).is_some_and(|groups| groups != "00000000")
        })
    };
    while !is_heard() {
        assert!(Instant::now() < deadline, "the agent does not follow the namespace");
        thread::sleep(Duration::from_millis(20));
    }
}

fn wait_until_told(agent: &RunningAgent, told: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !agent.told().lines().any(|line| line.contains(told)) {
        assert!(Instant::now() < deadline, "{told}: {}", agent.told());
        thread::sleep(Duration::from_millis(50));
    }
}

/// The line of an address, without its namespace.
fn is_told(agent: &RunningAgent, address: &str, counts: &str) {
    wait_until_told(agent, &format!("the address {address} "));
    let told = agent.told();
    let line = told.lines().find(|line| line.contains(&format!("the address {address} "))).unwrap();
    assert!(line.ends_with(counts), "{line}");
}

fn start(cgroup: &OwnCgroup) -> RunningAgent {
    let root = kirikae_agent::cgroup_root().unwrap();
    let inside = cgroup.path.strip_prefix(root).unwrap().display();
    let scopes = format!(
        "name = 'destroyed'\nleast-rtt = '0 s'\nwhen-address-gone = 'destroy'\n\
         remote = ['{FAR}', '{FAR_V6}', '{FAR_LINK_LOCAL}']\n\
         [[scope]]\nname = 'told'\ncgroup = '{inside}'\nleast-rtt = '0 s'"
    );
    RunningAgent::start(cgroup, &scopes)
}

#[test]
fn connections_whose_address_is_gone_are_told_of_and_others_are_not() {
    let destroying = kirikae_agent::can_destroy().then_some(()).ok_or("no bpf_sock_destroy");
    if !privileged_with_paths() || !has(Need::Bpf, destroying) {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let agent = start(&cgroup);
    thread::scope(|scope| {
        let other = || {
            enter_a_namespace_with(&[GONE, FAR]);
            Connection::between(GONE, FAR)
        };
        let mut other = scope.spawn(other).join().unwrap();
        scope.spawn(|| addresses_go(&agent)).join().unwrap();
        other.works();
    });
    agent.stop();
}

fn addresses_go(agent: &RunningAgent) {
    enter_a_namespace_with(&[
        GONE,
        GONE_V6,
        GONE_LINK_LOCAL,
        BACK,
        ELSEWHERE,
        ROUTED,
        FAR,
        FAR_V6,
        FAR_LINK_LOCAL,
        FAR_TOLD,
    ]);
    // An address of one link is another one on this.
    ip(&[
        "tuntap add dev other mode tun".into(),
        "link set other up".into(),
        on("add", ELSEWHERE, "other"),
        on("add", GONE_LINK_LOCAL, "other"),
    ]);
    let mut destroyed = [(GONE, FAR), (GONE_V6, FAR_V6), (GONE_LINK_LOCAL, FAR_LINK_LOCAL)]
        .map(|(near, far)| Connection::between(near, far));
    let mut told = Connection::between(GONE, FAR_TOLD);
    let mut others = [BACK, ELSEWHERE, ROUTED].map(|near| Connection::between(near, FAR));
    wait_for_the_agent();
    // The first ones are to be looked at no later than those that are waited for.
    ip(&[
        on("del", BACK, "lo"),
        on("add", BACK, "lo"),
        on("del", ELSEWHERE, "lo"),
        "route add local 192.0.2.4/30 dev lo".into(),
        on("del", ROUTED, "lo"),
        on("del", GONE, "lo"),
        on("del", GONE_V6, "lo"),
        on("del", GONE_LINK_LOCAL, "lo"),
    ]);
    is_told(agent, GONE, "connections that have it: 2, destroyed: 1");
    is_told(agent, GONE_V6, "connections that have it: 1, destroyed: 1");
    is_told(agent, GONE_LINK_LOCAL, "connections that have it: 1, destroyed: 1");
    destroyed.iter_mut().for_each(Connection::is_destroyed);
    told.waits();
    others.iter_mut().for_each(Connection::works);
    assert_eq!(agent.told().matches("the address ").count(), 3, "{}", agent.told());
    let status = agent.status();
    assert_eq!((status.stranded, status.destroyed), (4, 3));

    // An interface takes its addresses along.
    let mut gone = Connection::between(ELSEWHERE, FAR);
    ip(&["link del other".into()]);
    is_told(agent, ELSEWHERE, "connections that have it: 2, destroyed: 2");
    gone.is_destroyed();
    others[1].is_destroyed();
}
