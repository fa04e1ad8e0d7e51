//! New connections a second, with an agent and without: `sudo cargo bench -p kirikae --bench connections`.
//!
//! nginx answers `ab` over loopback, one request a connection, twenty at a time, so that both ends are on the
//! host and nothing but the making of connections takes time. There is nothing to be gained on such a
//! connection, and it must not cost. By turns, and each round in the other order.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{OwnCgroup, RunningAgent, privileged};
use kirikae_lab::statistics::ratio_of_means;

const ROUNDS: usize = 10;
const REQUESTS: &str = "15000";
const AT_ONCE: &str = "20";

fn main() {
    if !privileged() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("object"), "kirikae\n").expect("a temporary file");
    let cgroup = OwnCgroup::enter();
    let port = free_port();
    let nginx = Nginx::start(directory.path(), port);
    let mut rates = Vec::new();
    println!(" round  without, a second  with, a second  with / without");
    for round in 1..=ROUNDS {
        let with = || {
            let agent = RunningAgent::start(&cgroup, "name = 'all'");
            let rate = connections_a_second(port);
            agent.stop();
            rate
        };
        let [without, with] = if round % 2 == 1 {
            let without = connections_a_second(port);
            [without, with()]
        } else {
            let with = with();
            [connections_a_second(port), with]
        };
        println!("{round:6}  {without:17.0}  {with:14.0}  {:14.3}", with / without);
        rates.push((with, without));
    }
    drop(nginx);
    let ratio = ratio_of_means(&rates).expect("there were rounds");
    let half = ratio.half_width.expect("several rounds");
    println!("with / without {:.3} ± {half:.3} (95 %), n = {ROUNDS} rounds", ratio.value);
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// What `ab` says, once it has made all of its connections.
fn connections_a_second(port: u16) -> f64 {
    let url = format!("http://127.0.0.1:{port}/object");
    let output = Command::new("ab")
        .args(["-q", "-n", REQUESTS, "-c", AT_ONCE, &url])
        .output()
        .expect("ab (Debian: apache2-utils) runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Failed requests:        0"), "{text}");
    let rate = text.lines().find_map(|line| line.strip_prefix("Requests per second:"));
    let number = rate.and_then(|rate| rate.split_whitespace().next()).expect("ab tells the rate");
    number.parse().expect("a number")
}

/// Ends with this value.
struct Nginx(Child);

impl Nginx {
    fn start(directory: &Path, port: u16) -> Nginx {
        let shown = directory.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {shown}/{kind};"))
            .concat();
        let text = format!(
            "daemon off; master_process off; pid {shown}/pid; error_log {shown}/log;\n\
             events {{}}\n\
             http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port}; root {shown}; }} }}\n"
        );
        let file = directory.join("nginx.conf");
        fs::write(&file, text).expect("a temporary file");
        let mut command = Command::new("nginx");
        command.arg("-e").arg(directory.join("log")).arg("-c").arg(file).stderr(Stdio::null());
        let nginx = Nginx(command.spawn().expect("nginx runs"));
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(Instant::now() < deadline, "nginx does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.0.kill().expect("our child");
        self.0.wait().expect("our child");
    }
}
