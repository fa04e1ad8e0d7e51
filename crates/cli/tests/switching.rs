//! The whole agent on the real kernel: connections over loopback are switched, left alone where
//! their program chose, and restored.
//!
//! It needs root. It is one test function, because the whole process shares the algorithms' names and this
//! process's cgroup.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kirikae_agent::{Agent, Algorithms, Config, DEFAULT_PATHS, Pinning, candidates, undo};
use kirikae_algorithms::{Algorithm, Parameter};
use kirikae_checks::{Need, has};
use kirikae_policy::{Policy, Scope};
use kirikae_vocabulary::Switch;
use nix::sched::{CloneFlags, unshare};
use socket2::{Domain, SockFilter, SockRef, Socket, Type};

use common::{OwnCgroup, algorithm, privileged, ss};

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Classic BPF, `ret #0`: the socket gets nothing.
const DROP: SockFilter = SockFilter::new(6, 0, 0, 0);

/// A connection over loopback and its two ends.
struct Connection {
    near: TcpStream,
    far: TcpStream,
}

impl Connection {
    fn open(algorithm: Option<&str>) -> Connection {
        Connection::open_to(Ipv4Addr::LOCALHOST.into(), algorithm)
    }

    /// Connects to an address of this host. For an IPv4 address in IPv6 the listener is IPv4.
    fn open_to(host: IpAddr, algorithm: Option<&str>) -> Connection {
        let listener = TcpListener::bind((host.to_canonical(), 0)).unwrap();
        let remote = SocketAddr::new(host, listener.local_addr().unwrap().port());
        let near = Socket::new(Domain::for_address(remote), Type::STREAM, None).unwrap();
        if let Some(name) = algorithm {
            near.set_tcp_congestion(name.as_bytes()).unwrap();
        }
        near.connect(&remote.into()).unwrap();
        Connection { near: near.into(), far: listener.accept().unwrap().0 }
    }

    /// Sends 10 KB and reads them at the other end.
    fn send(&mut self) {
        let chunk = [7u8; 10_000];
        let mut received = [0; 10_000];
        self.near.write_all(&chunk).unwrap();
        self.far.read_exact(&mut received).unwrap();
        assert_eq!(received, chunk);
    }

    /// Sends 100 KB, with RTT samples over several periods.
    fn talk(&mut self) {
        for _ in 0..10 {
            self.send();
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Loses what is sent until the retransmission timeout; returns the ssthresh that this sets.
    fn time_out(&mut self) -> u64 {
        let far = SockRef::from(&self.far);
        far.attach_filter(&[DROP]).unwrap();
        self.near.write_all(b"lost").unwrap();
        let ssthresh = loop {
            match self.ssthresh() {
                Some(ssthresh) => break ssthresh,
                None => thread::sleep(Duration::from_millis(10)),
            }
        };
        far.detach_filter().unwrap();
        self.far.read_exact(&mut [0; 4]).unwrap();
        ssthresh
    }

    /// The ssthresh; None if it is infinite, which `ss` leaves out.
    fn ssthresh(&self) -> Option<u64> {
        number(&ss(&self.near), "ssthresh:")
    }

    fn cwnd_and_ssthresh(&self) -> (u64, Option<u64>) {
        let text = ss(&self.near);
        (number(&text, "cwnd:").unwrap(), number(&text, "ssthresh:"))
    }

    /// The retransmission timeout, milliseconds.
    fn rto(&self) -> f64 {
        let text = ss(&self.near);
        text.split_whitespace().find_map(|word| word.strip_prefix("rto:")).unwrap().parse().unwrap()
    }

    /// Loses what is sent until the timeout has been doubled `times` times; returns it, milliseconds.
    fn back_off(&mut self, times: u64) -> f64 {
        let far = SockRef::from(&self.far);
        far.attach_filter(&[DROP]).unwrap();
        self.near.write_all(b"lost").unwrap();
        while number(&ss(&self.near), "backoff:") < Some(times) {
            thread::sleep(Duration::from_millis(10));
        }
        let rto = self.rto();
        far.detach_filter().unwrap();
        self.far.read_exact(&mut [0; 4]).unwrap();
        rto
    }

    /// The program writes and closes, while nothing arrives for that time.
    fn closes_in_an_outage(mut self, outage: Duration) {
        let far = SockRef::from(&self.far);
        far.attach_filter(&[DROP]).unwrap();
        self.near.write_all(b"the last words").unwrap();
        drop(self.near);
        thread::sleep(outage);
        far.detach_filter().unwrap();
        let mut arrived = Vec::new();
        self.far.read_to_end(&mut arrived).unwrap();
        assert_eq!(arrived, b"the last words");
    }

    fn switch_to(&self, algorithm: &str) {
        SockRef::from(&self.near).set_tcp_congestion(algorithm.as_bytes()).unwrap();
    }

    fn algorithm(&self) -> String {
        algorithm(&self.near)
    }
}

/// The number that follows a word of `ss`.
fn number(text: &str, before: &str) -> Option<u64> {
    let number = text.split_whitespace().find_map(|word| word.strip_prefix(before))?;
    Some(number.parse().unwrap())
}

fn config(cgroup: &Path, pinning: Pinning) -> Config {
    let table = Arc::from(kirikae_table::shipped().kernel_table());
    let scope = Scope { least_rtt: Duration::ZERO, ..Scope::new(table) };
    Config {
        cgroup: cgroup.to_owned(),
        algorithms: candidates(&scope).unwrap(),
        policy: Policy::one(scope),
        adopt: None,
        pinning,
        paths: DEFAULT_PATHS,
        are_calls_recorded: false,
    }
}

fn switches(agent: &Agent) -> Vec<Switch> {
    let mut switches = Vec::new();
    agent.poll(Duration::from_millis(100), &mut |switch| switches.push(switch)).unwrap();
    switches
}

/// TCP_RTO_MAX_MS, and with it the sysctl, came with Linux 6.15.
fn has_rto_max() -> bool {
    Path::new("/proc/sys/net/ipv4/tcp_rto_max_ms").exists()
}

fn algorithm_names() -> impl Iterator<Item = &'static str> {
    Algorithm::all().map(|algorithm| algorithm.name())
}

fn registered() -> Vec<&'static str> {
    let available = fs::read_to_string(AVAILABLE).unwrap();
    algorithm_names().filter(|name| available.split_whitespace().any(|a| a == *name)).collect()
}

#[test]
fn connections_are_switched_and_restored() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();

    // The algorithms alone are registered while the value lives, and gone afterwards.
    let algorithms = Algorithms::register(&Algorithm::all().collect::<Vec<_>>()).unwrap();
    assert_eq!(registered(), algorithm_names().collect::<Vec<_>>());
    for name in algorithm_names() {
        let mut connection = Connection::open(Some(name));
        connection.talk();
        assert_eq!(connection.algorithm(), name);
    }
    every_ordered_pair();
    drop(algorithms);
    assert_eq!(registered(), [""; 0]);

    // If somebody else has a name, there is one error that says which, and nothing is loaded.
    let all: Vec<_> = Algorithm::all().collect();
    let someone = Algorithms::register(&[Algorithm::named("kk_reno").unwrap()]).unwrap();
    let refused = Algorithms::register(&all).unwrap_err().to_string();
    assert!(refused.contains("kk_reno") && refused.contains("taken"), "{refused}");
    assert_eq!(registered(), ["kk_reno"]);
    let config_of_all = Config { algorithms: all, ..config(&cgroup.path, Pinning::Pinned) };
    let refused = Agent::start(&config_of_all).err().unwrap().to_string();
    assert!(refused.contains("kk_reno"), "{refused}");
    assert_eq!(registered(), ["kk_reno"]);
    assert!(!Path::new("/run/kirikae").exists(), "nothing is left of it");
    drop(someone);

    // A parameter is set: the share that cubic keeps of the initial window of 10 after a loss.
    for (beta_1000, ssthresh) in [(500, 5), (900, 9)] {
        let cubic = Algorithm::named("kk_cubic").unwrap().with("beta_1000", beta_1000).unwrap();
        let algorithms = Algorithms::register(&[cubic]).unwrap();
        assert_eq!(registered(), ["kk_cubic"]);
        assert_eq!(Connection::open(Some("kk_cubic")).time_out(), ssthresh);
        drop(algorithms);
    }

    // The verifier takes parameters for constants, and so sees other code with other values.
    for edge in
        [|parameter: &Parameter| parameter.lowest, |parameter: &Parameter| parameter.highest]
    {
        let at_edge = |algorithm: Algorithm| {
            let set = |algorithm: Algorithm, parameter: Parameter| {
                algorithm.with(parameter.name, edge(&parameter)).unwrap()
            };
            algorithm.parameters().fold(algorithm, set)
        };
        let algorithms: Vec<_> = Algorithm::all().map(at_edge).collect();
        let registered = Algorithms::register(&algorithms).unwrap();
        for algorithm in algorithm_names() {
            Connection::open(Some(algorithm)).talk();
        }
        drop(registered);
    }

    // The agent switches, reports, leaves alone, and restores.
    let original = Connection::open(None).algorithm();
    let agent = Agent::start(&config(&cgroup.path, Pinning::Unpinned)).unwrap();
    let mut switched = Connection::open(None);
    let mut chosen = Connection::open(Some("reno"));
    let mut kept = Connection::open(None);
    kept.switch_to(&original);
    switched.talk();
    chosen.talk();
    kept.talk();
    assert!(switched.algorithm().starts_with("kk_"), "{}", switched.algorithm());
    assert_eq!(chosen.algorithm(), "reno", "its program chose it");
    assert_eq!(kept.algorithm(), original, "its program chose what it had");

    // The timeout allows 50 ms for the variation, and is for a while a second at most.
    assert!(switched.rto() < 150.0, "{}", switched.rto());
    assert_eq!(chosen.rto().max(200.0), chosen.rto(), "left alone");
    if has_rto_max() {
        assert_eq!(switched.back_off(5), 1000.0);
        switched.talk();
    }

    // The kernel gives up a closed connection when its timeout is at its longest, after about 2 s.
    let mut closed = Connection::open(None);
    closed.talk();
    closed.closes_in_an_outage(Duration::from_secs(4));

    let reported = switches(&agent);
    let local = switched.near.local_addr().unwrap();
    let first = reported.iter().find(|switch| switch.local == local).unwrap();
    assert_eq!(first.from, original);
    let latest = reported.iter().rfind(|switch| switch.local == local).unwrap();
    assert_eq!(latest.to, switched.algorithm());
    assert_eq!(first.remote, switched.near.peer_addr().unwrap());
    let namespace = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    assert_eq!(u64::from(first.namespace), namespace);
    assert!(first.to_string().contains(&format!("netns {namespace}")), "{first}");
    let columns = &kirikae_table::shipped().algorithms;
    // The column that stands for what a connection came with is left out if that algorithm has its own
    // column.
    let has_own = original != "cubic" && columns.contains(&format!("kk_{original}"));
    assert_eq!(first.predicted_s.len(), columns.len() - usize::from(has_own));
    assert!(first.predicted_s.is_sorted_by_key(|(_, latency)| *latency), "smallest first: {first}");
    assert!(first.isolated_loss == 0.0 && first.burst_loss == 0.0, "{first}");

    let mut later = Connection::open(None);
    later.talk();
    later.switch_to("reno");

    // Connections over IPv6, and over IPv4 with a socket of IPv6, are reported with the addresses of the
    // packets.
    let hosts = ["::1", "::ffff:127.0.0.1"].map(|host| host.parse().unwrap());
    let mut others = hosts.map(|host| Connection::open_to(host, None));
    others.iter_mut().for_each(Connection::talk);
    let reported = switches(&agent);
    for Connection { near, .. } in &others {
        let on_the_wire = |address: SocketAddr| (address.ip().to_canonical(), address.port());
        let local = on_the_wire(near.local_addr().unwrap());
        let switch = reported.iter().find(|s| (s.local.ip(), s.local.port()) == local).unwrap();
        let remote = on_the_wire(near.peer_addr().unwrap());
        assert_eq!((switch.remote.ip(), switch.remote.port()), remote);
        assert!(algorithm(near).starts_with("kk_"));
    }

    // A connection that its peer has reset and that is still held open must not be restored or waited for.
    let mut reset = Connection::open(None);
    reset.talk();
    SockRef::from(&reset.far).set_linger(Some(Duration::ZERO)).unwrap();
    drop(reset.far);
    assert!(reset.near.read(&mut [0]).is_err());

    let restored = agent.stop().unwrap();
    assert!(restored.connections >= 3 && restored.is_complete(), "{restored:?}");
    assert_eq!(restored.closed, 1, "the one that was reset");
    assert!(others.iter().all(|connection| connection.algorithm() == original));
    assert!(algorithm(&reset.near).starts_with("kk_"));
    assert_eq!(switched.algorithm(), original);
    assert_eq!(later.algorithm(), "reno", "its program chose it after the switch");
    assert_eq!(registered(), [""; 0]);
    switched.talk();
    if has_rto_max() {
        assert!(switched.back_off(6) > 1000.0, "the kernel's longest timeout is back");
    }

    // The agent is killed while pinned: the kernel goes on switching, and `undo` restores everything.
    assert_eq!(undo().unwrap(), None, "nothing to undo yet");
    drop(Agent::start(&config(&cgroup.path, Pinning::Pinned)).unwrap());
    let mut orphan = Connection::open(None);
    orphan.talk();
    assert!(orphan.algorithm().starts_with("kk_"), "switched without an agent");
    let restored = undo().unwrap().unwrap();
    assert!(restored.connections >= 1 && restored.is_complete() && restored.closed == 0);
    assert_eq!(orphan.algorithm(), original);
    assert_eq!(registered(), [""; 0]);
    assert!(!Path::new("/run/kirikae").exists());

    // This is done in a network namespace of its own, because the host's default may be bbr.
    thread::scope(|scope| {
        scope.spawn(|| into_bbr_and_back(&cgroup.path));
    });
}

/// Switches one running connection to each of our algorithms from each other: the window stays as it is, and
/// so does ssthresh. A bbr has no use for ssthresh, and hands it on to the next algorithm.
fn every_ordered_pair() {
    let mut connection = Connection::open(Some("kk_cubic"));
    let ssthresh = Some(connection.time_out());
    for from in algorithm_names() {
        for to in algorithm_names() {
            connection.switch_to(from);
            connection.send();
            let (cwnd, _) = connection.cwnd_and_ssthresh();
            connection.switch_to(to);
            assert_eq!(connection.algorithm(), to);
            let after = connection.cwnd_and_ssthresh();
            let expected = if to.starts_with("kk_bbr") { None } else { ssthresh };
            assert_eq!(after, (cwnd, expected), "{from} to {to}");
            connection.send();
        }
    }
}

/// bbr sets ssthresh to infinite, which its successor must not inherit.
fn into_bbr_and_back(cgroup: &Path) {
    let asked = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    if !has(Need::Bbr, asked.set_tcp_congestion(b"bbr")) {
        return;
    }
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno").unwrap();

    let mut config = config(cgroup, Pinning::Unpinned);
    let table = Arc::make_mut(&mut config.policy.scopes[0].table);
    table.algorithms = 1;
    table.stock = kirikae_table::ALGORITHMS as u32;
    table.name[0] = *b"bbr\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let agent = Agent::start(&config).unwrap();
    let mut connection = Connection::open(None);
    let ssthresh = connection.time_out();
    connection.talk();
    assert_eq!(connection.algorithm(), "bbr");
    assert_eq!(connection.ssthresh(), None);

    let restored = agent.stop().unwrap();
    assert!(restored.connections >= 1 && restored.is_complete(), "{restored:?}");
    assert_eq!(connection.algorithm(), "reno");
    assert_eq!(connection.ssthresh(), Some(ssthresh));
    connection.talk();
}
