//! What one who is root of a network namespace of his own, and nobody otherwise, can do to the agent by netlink: nothing
//! that others notice.
//!
//! It needs root. It is one test function, since the host can have one agent at a time; the other is what it starts as a
//! tenant.

mod common;

use std::env;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_daemon::client;
use kirikae_daemon::status::Paths;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::libc::{AF_INET, AF_INET6, IFA_ADDRESS, RTA_MULTIPATH, RTM_NEWADDR, RTM_NEWROUTE};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use common::{OwnCgroup, RunningAgent, kib, privileged};

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);
/// Tells this binary that it is a tenant, and what it does.
const TENANT: &str = "KIRIKAE_TEST_TENANT";
/// The groups that the agent hears, as a mask: links, addresses and routes.
const GROUPS: u32 = 0x551;
/// By so much the agent may grow, KiB.
const GROWTH: u64 = 10 << 10;
/// So much processor time may its thread take for a tenant.
const TIME: Duration = Duration::from_secs(1);

#[test]
fn nobody_notices_what_a_tenant_sends() {
    if !privileged() || env::var_os(TENANT).is_some() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    let agent = RunningAgent::start_inside(&cgroup);
    let _ours = talk();
    let ours = wait_for(|| paths().first().copied());
    let mut known = vec![ours];
    for does in ["hops within hops", "addresses", "zeros", "routes"] {
        let before = kib(agent.proc("status"), "VmRSS:");
        let tenant = Tenant::start(does);
        let theirs = wait_for(|| paths().into_iter().find(|it| !known.contains(it)));
        let time = network_thread_time(&agent);
        tenant.go_on();
        tenant.wait_until_stopped();
        let taken = network_thread_time(&agent).zip(time).map(|(now, before)| now - before);
        assert!(taken.is_some_and(|it| it < TIME), "{does}: {taken:?}, {}", agent.told());
        if does == "routes" {
            // They are too many to be told apart, in this namespace alone.
            wait_for(|| (!paths().contains(&theirs)).then_some(()));
        }
        in_a_namespace(|| {
            let _held = talk();
            wait_for(agents_port);
        });
        assert!(paths().contains(&ours), "{does}: {}", agent.told());
        let grown = kib(agent.proc("status"), "VmRSS:").saturating_sub(before);
        assert!(grown < GROWTH, "{does}: {grown} KiB");
        known = paths();
    }
    let network = agent.status().network;
    assert!(network.is_alive && network.ended == 0 && network.dropped > 0, "{network:?}");
    let told = agent.told();
    assert_eq!(told.matches("netlink socket are dropped").count(), 1, "{told}");
    agent.stop();
}

/// What the test above starts: nobody, in a user namespace and a network namespace of his own. It stops itself when it is
/// ready, and when it is done.
#[test]
fn tenant() {
    let Ok(does) = env::var(TENANT) else { return };
    set_loopback_up();
    let _held = talk();
    let agent = wait_for(agents_port);
    raise(Signal::SIGSTOP).unwrap();
    match does.as_str() {
        "hops within hops" => flood(agent, 1, || hops_within_hops(3_000)),
        "addresses" => {
            let mut made = 0..;
            flood(agent, 500, || (0..1_000).flat_map(|_| address(made.next().unwrap())).collect());
        }
        "zeros" => flood(agent, 1_000, || vec![0; 60_000]),
        "routes" => change_routes(300),
        other => panic!("no tenant does {other}"),
    }
    raise(Signal::SIGSTOP).unwrap();
}

/// A process that is ready; it is killed when this is dropped.
struct Tenant(Child);

impl Tenant {
    fn start(does: &str) -> Tenant {
        // He may not be let into the directory where this binary is.
        let binary = File::open(env::current_exe().unwrap()).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.args(["unshare", "--user", "--map-root-user", "--net"]);
        command.args(["/proc/self/fd/0", "tenant", "--exact", "--nocapture"]);
        command.env(TENANT, does).stdin(binary).stdout(Stdio::null());
        let tenant = Tenant(command.spawn().unwrap());
        tenant.wait_until_stopped();
        tenant
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id() as i32)
    }

    fn wait_until_stopped(&self) {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
        wait_for(|| match waitpid(self.pid(), Some(flags)).unwrap() {
            WaitStatus::Stopped(..) => Some(()),
            WaitStatus::StillAlive => None,
            ended => panic!("the tenant: {ended:?}"),
        });
    }

    fn go_on(&self) {
        kill(self.pid(), Signal::SIGCONT).unwrap();
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for<T>(mut f: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = f() {
            return found;
        }
        assert!(Instant::now() < deadline, "it has not come");
        thread::sleep(Duration::from_millis(20));
    }
}

fn set_loopback_up() {
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
}

fn in_a_namespace<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        set_loopback_up();
        f()
    };
    thread::scope(|scope| scope.spawn(inside).join().unwrap())
}

/// A connection over loopback that is open; one before it has shown something of the path, and has ended.
fn talk() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = || {
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    };
    let (mut near, mut far) = connect();
    let mut received = [0; 10_000];
    for _ in 0..10 {
        near.write_all(&[7; 10_000]).unwrap();
        far.read_exact(&mut received).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    connect()
}

/// The namespaces in which something is known of paths over loopback.
fn paths() -> Vec<u32> {
    let paths: Paths = client::get("/paths").unwrap();
    let over_loopback = paths.paths.iter().filter(|it| it.path.remote.addr().is_loopback());
    over_loopback.map(|it| it.path.namespace).collect()
}

/// The processor time that the agent's thread "network" has taken; None: there is no such thread.
fn network_thread_time(agent: &RunningAgent) -> Option<Duration> {
    let threads = fs::read_dir(agent.proc("task")).unwrap();
    threads.into_iter().find_map(|thread| {
        let stat = fs::read_to_string(thread.unwrap().path().join("stat")).ok()?;
        let fields = stat.split_once("(network) ")?.1;
        let ticks = fields.split(' ').skip(11).take(2).map(|it| it.parse::<u64>().unwrap());
        Some(Duration::from_millis(10 * ticks.sum::<u64>()))
    })
}

/// The port of the agent's netlink socket in the namespace of this thread.
fn agents_port() -> Option<u32> {
    let sockets = fs::read_to_string("/proc/thread-self/net/netlink").unwrap();
    sockets.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (protocol, port, groups) = (fields.next()?, fields.next()?, fields.next()?);
        let groups = u32::from_str_radix(groups, 16).ok()?;
        let is_agents = protocol == "0" && groups & GROUPS == GROUPS;
        is_agents.then(|| port.parse().unwrap())
    })
}

/// Sends messages to the agent's socket, each to it alone and to all that hear the same of the kernel. Whether any is taken
/// is the kernel's affair and the agent's.
fn flood(agent: u32, times: u32, mut messages: impl FnMut() -> Vec<u8>) {
    let mut socket = Socket::new(NETLINK_ROUTE).unwrap();
    socket.bind_auto().unwrap();
    for _ in 0..times {
        let messages = messages();
        let _ = socket.send_to(&messages, &SocketAddr::new(agent, 0), 0);
        let _ = socket.send_to(&messages, &SocketAddr::new(0, GROUPS), 0);
    }
}

fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let length = 16 + body.len() as u32;
    [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], body].concat()
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len() as u16;
    [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
}

/// A new route, whose next hop has a next hop, and so on.
fn hops_within_hops(levels: usize) -> Vec<u8> {
    let mut hops = Vec::new();
    for _ in 0..levels {
        let length = 8 + hops.len() as u16;
        let hop = [&length.to_ne_bytes()[..], &[0, 0], &1_u32.to_ne_bytes(), &hops].concat();
        hops = attribute(RTA_MULTIPATH, &hop);
    }
    let mut route = vec![0; 12];
    route[0] = AF_INET as u8;
    message(RTM_NEWROUTE, &[route, hops].concat())
}

/// A new address of loopback.
fn address(number: u128) -> Vec<u8> {
    let header = [&[AF_INET6 as u8, 128, 0, 0][..], &1_u32.to_ne_bytes()].concat();
    let ip = ((0xfd00_6b6b_u128 << 96) | number).to_be_bytes();
    message(RTM_NEWADDR, &[header, attribute(IFA_ADDRESS, &ip)].concat())
}

/// Adds routes in this namespace and takes them away, as `ip` does.
fn change_routes(number: u32) {
    for what in ["add", "delete"] {
        let line = |n| format!("route {what} 10.{}.{}.0/24 dev lo\n", n / 256, n % 256);
        let lines: String = (0..number).map(line).collect();
        let mut ip = Command::new("ip");
        let mut ip = ip.args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        ip.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        assert!(ip.wait().unwrap().success());
    }
}
