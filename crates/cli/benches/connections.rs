//! New connections a second, with an agent and without: `sudo cargo bench -p kirikae --bench connections`.
//!
//! nginx answers `ab` over loopback, one request a connection, twenty at a time, so that both ends are on the
//! host and nothing but the making of connections takes time. There is nothing to be gained on such a
//! connection, and it must not cost. By turns, and each round in the other order. With `-- 20` as many rounds.
//!
//! Beside it a program of the same kind that does nothing: calling it is the kernel's own cost, which nobody
//! who asks for these callbacks can avoid.

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
use kirikae_neighbour::{Habit, Neighbour};

const ROUNDS: usize = 10;
const REQUESTS: &str = "15000";
/// Unmeasured: what has just been started or stopped has left the caches to others.
const BEFORE: &str = "3000";
const AT_ONCE: &str = "20";

fn main() {
    if !privileged() {
        return;
    }
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let rounds: usize = numbers.next_back().unwrap_or(ROUNDS);
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("object"), "kirikae\n").expect("a temporary file");
    let cgroup = OwnCgroup::enter();
    let port = free_port();
    let nginx = Nginx::start(directory.path(), port);
    let mut rates = Vec::new();
    println!(" round  without, a second  idle program  agent  idle / without  agent / without");
    for round in 1..=rounds {
        let mut rate = [0.0; BESIDE.len()];
        for turn in 0..BESIDE.len() {
            let which = (round + turn) % BESIDE.len();
            rate[which] = BESIDE[which].connections_a_second(&cgroup, port);
        }
        let [without, idle, agent] = rate;
        let (of_idle, of_agent) = (idle / without, agent / without);
        println!(
            "{round:6}  {without:17.0}  {idle:12.0}  {agent:5.0}  {of_idle:14.3}  {of_agent:15.3}"
        );
        rates.push(rate);
    }
    drop(nginx);
    tell("an idle program", rates.iter().map(|[without, idle, _]| (*idle, *without)));
    tell("the agent", rates.iter().map(|[without, _, agent]| (*agent, *without)));
    tell("the agent over an idle program", rates.iter().map(|[_, idle, agent]| (*agent, *idle)));
}

fn tell(what: &str, rates: impl Iterator<Item = (f64, f64)>) {
    let rates: Vec<_> = rates.collect();
    let ratio = ratio_of_means(&rates).expect("there were rounds");
    let half = ratio.half_width.expect("several rounds");
    println!("{what}: {:.3} ± {half:.3} (95 %), n = {} rounds", ratio.value, rates.len());
}

/// What there is while connections are made.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    IdleProgram,
    Agent,
}

const BESIDE: [Beside; 3] = [Beside::Nothing, Beside::IdleProgram, Beside::Agent];

impl Beside {
    fn connections_a_second(self, cgroup: &OwnCgroup, port: u16) -> f64 {
        match self {
            Beside::Nothing => connections_a_second(port),
            Beside::IdleProgram => {
                let root = kirikae_agent::cgroup_root().expect("there are cgroups");
                let _idle = Neighbour::attach(Habit::Idles, &root).expect("the kernel takes it");
                connections_a_second(port)
            }
            Beside::Agent => {
                let agent = RunningAgent::start(cgroup, "name = 'all'");
                let rate = connections_a_second(port);
                agent.stop();
                rate
            }
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

fn connections_a_second(port: u16) -> f64 {
    make_connections(port, BEFORE);
    make_connections(port, REQUESTS)
}

/// How many a second, as `ab` says once it has made all of them. It and nginx keep a processor each, where there
/// are two.
fn make_connections(port: u16, requests: &str) -> f64 {
    let url = format!("http://127.0.0.1:{port}/object");
    let output = on_processor(1, "ab")
        .args(["-q", "-n", requests, "-c", AT_ONCE, &url])
        .output()
        .expect("ab (Debian: apache2-utils) runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Failed requests:        0"), "{text}");
    let rate = text.lines().find_map(|line| line.strip_prefix("Requests per second:"));
    let number = rate.and_then(|rate| rate.split_whitespace().next()).expect("ab tells the rate");
    number.parse().expect("a number")
}

/// Wherever the scheduler puts it otherwise, it stays for a while, and that makes more of a difference than what is
/// measured.
fn on_processor(number: usize, program: &str) -> Command {
    let there_are = thread::available_parallelism().map_or(1, usize::from);
    let mut command = Command::new("taskset");
    command.args(["-c", &(number % there_are).to_string(), program]);
    command
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
        let mut command = on_processor(0, "nginx");
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
