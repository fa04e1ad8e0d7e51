//! Network namespaces for the tests, with loopback alone.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use kirikae_agent::Namespaces;
use nix::sched::{CloneFlags, setns, unshare};

use crate::ORIGINAL;

/// An address to tell connections over IPv6 apart.
pub const IPV6: &str = "fd00:6b6b::1";

/// Enters a new namespace with this thread and those that it starts.
pub fn enter_a_new_one() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    furnish();
}

/// The namespace that this thread is in.
pub fn ours() -> Namespaces {
    Namespaces::Named(vec!["/proc/thread-self/ns/net".into()])
}

fn furnish() {
    ip(&["link", "set", "lo", "up"]);
    ip(&["address", "add", &format!("{IPV6}/128"), "dev", "lo", "nodad"]);
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", ORIGINAL).unwrap();
    wait_for_route();
}

/// Waits until the IPv6 address is routed; the kernel does that a moment after the address is added.
fn wait_for_route() {
    let deadline = Instant::now() + Duration::from_secs(10);
    let is_routed = || UdpSocket::bind("[::]:0").unwrap().connect((IPV6, 9)).is_ok();
    while !is_routed() {
        assert!(Instant::now() < deadline, "no route to {IPV6}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn ip(arguments: &[&str]) {
    assert!(Command::new("ip").args(arguments).status().unwrap().success(), "ip {arguments:?}");
}

/// A namespace with a name, until it is dropped.
pub struct Named {
    name: String,
}

impl Named {
    pub fn new() -> Named {
        let name = format!("kirikae-test-{}", std::process::id());
        ip(&["netns", "add", &name]);
        let named = Named { name };
        named.within(furnish);
        named
    }

    pub fn path(&self) -> PathBuf {
        Path::new("/run/netns").join(&self.name)
    }

    /// Runs a function in it.
    pub fn within<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            setns(File::open(self.path()).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
            f()
        };
        thread::scope(|scope| scope.spawn(inside).join().unwrap())
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        ip(&["netns", "delete", &self.name]);
    }
}
