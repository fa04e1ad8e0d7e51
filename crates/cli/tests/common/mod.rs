//! What the tests of the command line share.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use socket2::SockRef;

/// The binary under test.
#[allow(dead_code)]
pub fn kirikae() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kirikae"))
}

/// Whether the host has what live switching needs; says what is missing where a test is skipped.
#[allow(dead_code)]
pub fn privileged() -> bool {
    match kirikae_agent::requirements() {
        Ok(()) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

/// This process in a cgroup of its own, so that no other connection of the host is switched.
#[allow(dead_code)]
pub struct OwnCgroup {
    /// Where it is mounted.
    pub path: PathBuf,
    before: PathBuf,
}

#[allow(dead_code)]
impl OwnCgroup {
    /// Moves this process into it, until it is dropped.
    pub fn enter() -> OwnCgroup {
        let root = kirikae_agent::cgroup_root().unwrap();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let before = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let path = root.join(format!("kirikae-test-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        join(&path);
        OwnCgroup { path, before: root.join(before) }
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        join(&self.before);
        fs::remove_dir(&self.path).unwrap();
    }
}

fn join(cgroup: &Path) {
    fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string()).unwrap();
}

/// The congestion control of a socket.
#[allow(dead_code)]
pub fn algorithm(stream: &TcpStream) -> String {
    let name = SockRef::from(stream).tcp_congestion().unwrap();
    String::from_utf8(name).unwrap().trim_end_matches('\0').to_owned()
}

/// What `ss` says of the connection from this local port.
#[allow(dead_code)]
pub fn ss(stream: &TcpStream) -> String {
    let port = stream.local_addr().unwrap().port();
    let output = Command::new("ss")
        .args(["-tinH", "sport", "=", &format!(":{port}")])
        .output()
        .expect("iproute2 is installed");
    String::from_utf8(output.stdout).unwrap()
}
