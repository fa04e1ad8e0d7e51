//! Real programs, stock against kirikae in one run: `sudo cargo bench -p kirikae --bench programs`.
//!
//! nginx gives objects of 64 KiB to curl over one connection kept alive, three a second; a TigerVNC
//! server sends a client of ours 128 x 128 pixels (64 KiB) each time it asks. Both go over two emulated
//! paths at once, with the same packets lost: on one the server's connections are stock cubic's, on the
//! other the agent switches them. What is compared is how long the client waits.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_checks::{Need, can_run};
use kirikae_emu::Emulated;
use kirikae_path::{ElementSpec, PathSpec, QueueLimit, Span};

use common::{OwnCgroup, RunningAgent, cubic_to, privileged};

const ROUNDS: u64 = 6;
const ANSWERS: usize = 60;
const PAUSE: Duration = Duration::from_millis(330);
const SIZE: usize = 65_536;
/// Ports that the agent's scope names; the scope does not name the other two.
const SWITCHED: [u16; 2] = [8080, 5901];
const STOCK: [u16; 2] = [8081, 5902];
/// Pixels of a side; a pixel has four bytes.
const SIDE: u16 = 128;

fn main() {
    if !privileged() {
        return;
    }
    if !can_run(&[Need::Programs]) {
        return;
    }
    let directory = std::env::temp_dir().join(format!("kirikae-programs-{}", std::process::id()));
    fs::create_dir(&directory).expect("a temporary directory");
    fs::write(directory.join("object"), vec![b'k'; SIZE]).expect("a temporary file");
    let cgroup = OwnCgroup::enter();
    let ports = SWITCHED.map(|port| port.to_string()).join(", ");
    let agent = RunningAgent::start(&cgroup, &format!("local-port = [{ports}]"));
    let mut rounds = [Vec::new(), Vec::new()];
    for seed in 1..=ROUNDS {
        let [stock, switched] = thread::scope(|scope| {
            let directory = &directory;
            [(STOCK, "stock"), (SWITCHED, "switched")]
                .map(|(ports, label)| scope.spawn(move || arm(directory, ports, seed, label)))
                .map(|arm| arm.join().expect("an arm"))
        });
        eprintln!(
            "round {seed} of {ROUNDS}: http {:.3} and {:.3} s, vnc {:.3} and {:.3} s",
            mean(&stock[0]),
            mean(&switched[0]),
            mean(&stock[1]),
            mean(&switched[1])
        );
        for (program, rounds) in rounds.iter_mut().enumerate() {
            rounds.push([stock[program].clone(), switched[program].clone()]);
        }
    }
    agent.stop();
    fs::remove_dir_all(&directory).expect("it was made");
    for (name, rounds) in ["http (nginx, curl)", "vnc (TigerVNC)"].iter().zip(&rounds) {
        report(name, rounds);
    }
}

/// Measures both programs on a path of its own and returns their times.
fn arm(directory: &Path, ports: [u16; 2], seed: u64, label: &str) -> [Vec<f64>; 2] {
    let delay = || ElementSpec::Delay { delay: Span::from_millis(100) };
    let rate = ElementSpec::Rate { bits_per_second: 10_000_000, limit: QueueLimit::Packets(100) };
    let loss = ElementSpec::Loss { probability: 0.005 };
    let spec = PathSpec { forward: vec![loss, rate, delay()], backward: vec![delay()] };
    let path = Emulated::create(&spec, seed, label).expect("the path can be emulated");
    cubic_to(path.sender().name(), path.receiver().address());
    let server = path.sender().address();
    let http = {
        let _nginx = nginx(directory, &path, ports[0]);
        let url = format!("http://{server}:{}/object?[1-{ANSWERS}]", ports[0]);
        // The period counts from one request's start to the next.
        let output = inside(path.receiver().name(), "curl")
            .args([
                "-s",
                "-o",
                "/dev/null",
                "--rate",
                "3/s",
                "-w",
                "%{time_total} %{size_download}\\n",
            ])
            .arg(url)
            .output()
            .expect("curl runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let times = text.lines().map(|line| {
            let (time, size) = line.split_once(' ').expect("two numbers");
            assert_eq!(size, SIZE.to_string(), "a whole object");
            time.parse().expect("seconds")
        });
        times.collect::<Vec<f64>>()
    };
    assert_eq!(http.len(), ANSWERS);
    let vnc = {
        let _server = vnc_server(&path, server, ports[1]);
        path.receiver().run_in(|| updates(server, ports[1])).expect("a namespace")
    };
    path.finish().expect("the path worked");
    [http, vnc]
}

/// A program that is killed when this value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().expect("our child");
        self.0.wait().expect("our child");
    }
}

fn inside(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]).stdin(Stdio::null());
    command
}

fn nginx(directory: &Path, path: &Emulated, port: u16) -> Running {
    let shown = directory.display();
    let file = directory.join(format!("{port}.conf"));
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {shown}/{port}-{kind};"))
        .concat();
    let text = format!(
        "daemon off; master_process off; pid {shown}/{port}.pid; error_log {shown}/{port}.log;\n\
         events {{}}\n\
         http {{ access_log off; keepalive_timeout 600; keepalive_requests 100000; {temporary}\n\
         server {{ listen {}:{port}; root {shown}; }} }}\n",
        path.sender().address()
    );
    fs::write(&file, text).expect("a temporary file");
    let mut command = inside(path.sender().name(), "nginx");
    let running = Running(command.arg("-c").arg(&file).spawn().expect("nginx runs"));
    wait_for(path, port);
    running
}

fn vnc_server(path: &Emulated, address: Ipv4Addr, port: u16) -> Running {
    let mut command = inside(path.sender().name(), "Xvnc");
    command.args([&format!(":{}", port - 5800), "-rfbport", &port.to_string()]);
    command.args(["-interface", &address.to_string(), "-SecurityTypes", "None"]);
    command.args(["-geometry", "640x480", "-depth", "24", "-localhost=0", "-ac"]);
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(quiet.spawn().expect("Xvnc runs"));
    wait_for(path, port);
    running
}

fn wait_for(path: &Emulated, port: u16) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let server = (path.sender().address(), port);
    let connects = || path.sender().run_in(|| TcpStream::connect(server)).expect("a namespace");
    while connects().is_err() {
        assert!(Instant::now() < deadline, "nobody listens on port {port}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A viewer of RFC 6143: it asks for a part of the screen, raw, and for the next one when that has arrived.
fn updates(server: Ipv4Addr, port: u16) -> Vec<f64> {
    let mut stream = TcpStream::connect((server, port)).expect("a listener");
    stream.set_nodelay(true).expect("a socket");
    let read = |stream: &mut TcpStream, bytes: usize| {
        let mut buffer = vec![0; bytes];
        stream.read_exact(&mut buffer).expect("a server that answers");
        buffer
    };
    let _version = read(&mut stream, 12);
    stream.write_all(b"RFB 003.008\n").expect("a connection");
    let types = read(&mut stream, 1)[0];
    read(&mut stream, types.into());
    stream.write_all(&[1]).expect("a connection"); // no authentication
    assert_eq!(read(&mut stream, 4), [0; 4], "let in");
    stream.write_all(&[1]).expect("a connection"); // shared
    let init = read(&mut stream, 24);
    let name = u32::from_be_bytes(init[20..].try_into().expect("four bytes"));
    read(&mut stream, name as usize);
    stream.write_all(&[2, 0, 0, 1, 0, 0, 0, 0]).expect("a connection"); // only raw
    let [high, low] = SIDE.to_be_bytes();
    (0..ANSWERS)
        .map(|_| {
            let begin = Instant::now();
            stream.write_all(&[3, 0, 0, 0, 0, 0, high, low, high, low]).expect("a connection");
            let mut pixels = 0;
            while pixels < u32::from(SIDE) * u32::from(SIDE) {
                let header = read(&mut stream, 4);
                assert_eq!(header[0], 0, "an update");
                for _ in 0..u16::from_be_bytes([header[2], header[3]]) {
                    let rectangle = read(&mut stream, 12);
                    let side =
                        |at| u32::from(u16::from_be_bytes([rectangle[at], rectangle[at + 1]]));
                    pixels += side(4) * side(6);
                    read(&mut stream, (side(4) * side(6) * 4) as usize);
                }
            }
            let took = begin.elapsed();
            thread::sleep(PAUSE.saturating_sub(took));
            took.as_secs_f64()
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn report(name: &str, rounds: &[[Vec<f64>; 2]]) {
    let [stock, switched] = [0, 1].map(|arm| {
        let mut all: Vec<f64> = rounds.iter().flat_map(|round| round[arm].clone()).collect();
        all.sort_by(f64::total_cmp);
        all
    });
    let ratios: Vec<f64> =
        rounds.iter().map(|[stock, switched]| (mean(switched) / mean(stock)).ln()).collect();
    let ratio = mean(&ratios);
    let variance =
        ratios.iter().map(|it| (it - ratio).powi(2)).sum::<f64>() / (ratios.len() as f64 - 1.0);
    // The quantile of Student's distribution with 5 degrees of freedom.
    let half = 2.571 * (variance / ratios.len() as f64).sqrt();
    let quantile = |sorted: &[f64], q: f64| sorted[((sorted.len() - 1) as f64 * q) as usize];
    println!("{name}: n = {} in {} rounds", stock.len(), rounds.len());
    for (arm, times) in [("stock cubic", &stock), ("kirikae", &switched)] {
        println!(
            "  {arm:12} mean {:.3} s, median {:.3} s, 95 % {:.3} s",
            mean(times),
            quantile(times, 0.5),
            quantile(times, 0.95)
        );
    }
    println!(
        "  kirikae over stock {:.2} (95 %: {:.2} to {:.2})",
        ratio.exp(),
        (ratio - half).exp(),
        (ratio + half).exp()
    );
}
