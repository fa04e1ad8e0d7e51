//! nginx, and `ab` that asks it over loopback, twenty requests at a time.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_results::statistics::ratio_of_means;
use tempfile::TempDir;

const AT_ONCE: &str = "20";

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// Makes connections of one request each with `ab`, and returns how many it made a second.
pub fn make_connections(port: u16, requests: &str) -> f64 {
    ask(port, requests, &[])
}

/// Sends the requests one after the other on each of twenty connections, and returns how many were answered a
/// second.
#[allow(dead_code)]
pub fn make_requests(port: u16, requests: &str) -> f64 {
    ask(port, requests, &["-k"])
}

/// `ab` and nginx are bound to a processor each, if there are two.
fn ask(port: u16, requests: &str, options: &[&str]) -> f64 {
    let url = format!("http://127.0.0.1:{port}/object");
    let output = on_processor(1, "ab")
        .args(["-q", "-n", requests, "-c", AT_ONCE])
        .args(options)
        .arg(&url)
        .output()
        .expect("ab (Debian: apache2-utils) runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Failed requests:        0"), "{text}");
    let rate = text.lines().find_map(|line| line.strip_prefix("Requests per second:"));
    let number = rate.and_then(|rate| rate.split_whitespace().next()).expect("ab tells the rate");
    number.parse().expect("a number")
}

/// Prints the mean ratio of pairs of figures, one pair a round, with its interval.
pub fn tell_ratio(what: &str, pairs: impl Iterator<Item = (f64, f64)>) {
    let pairs: Vec<_> = pairs.collect();
    let ratio = ratio_of_means(&pairs).expect("there were rounds");
    let half = ratio.half_width.expect("several rounds");
    println!("{what}: {:.4} ± {half:.4} (95 %), n = {} rounds", ratio.value, pairs.len());
}

/// Binds a program to a processor. Otherwise the scheduler leaves it where it started for a while, and where
/// that is makes more of a difference than what is measured.
fn on_processor(number: usize, program: &str) -> Command {
    let there_are = thread::available_parallelism().map_or(1, usize::from);
    let mut command = Command::new("taskset");
    command.args(["-c", &(number % there_are).to_string(), program]);
    command
}

/// A server of one small object; it is stopped when this value is dropped.
pub struct Nginx {
    pub port: u16,
    process: Child,
    _directory: TempDir,
}

impl Nginx {
    /// Starts it in the cgroup of this process.
    pub fn start() -> Nginx {
        let temporary_directory = tempfile::tempdir().expect("a temporary directory");
        let directory = temporary_directory.path();
        fs::write(directory.join("object"), "kirikae\n").expect("a temporary file");
        let (shown, port) = (directory.display(), free_port());
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {shown}/{kind};"))
            .concat();
        let text = format!(
            "daemon off; master_process off; pid {shown}/pid; error_log {shown}/log;\n\
             events {{}}\n\
             http {{ access_log off; keepalive_requests 1000000; {temporary} server {{ listen 127.0.0.1:{port}; root {shown}; }} }}\n"
        );
        let file = directory.join("nginx.conf");
        fs::write(&file, text).expect("a temporary file");
        let mut command = on_processor(0, "nginx");
        command.arg("-e").arg(directory.join("log")).arg("-c").arg(file).stderr(Stdio::null());
        let process = command.spawn().expect("nginx runs");
        let nginx = Nginx { port, process, _directory: temporary_directory };
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
        self.process.kill().expect("our child");
        self.process.wait().expect("our child");
    }
}
