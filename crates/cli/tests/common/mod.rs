//! What the tests of the command line share.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kirikae_agent::Cost;
use kirikae_checks::{Need, can_run, has};
use kirikae_daemon::client;
use kirikae_daemon::status::Status;
use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use socket2::SockRef;

/// The binary under test.
#[allow(dead_code)]
pub fn kirikae() -> Command {
    program(env!("CARGO_BIN_EXE_kirikae"))
}

/// The program of this state of the code, or of another.
fn program(path: &str) -> Command {
    let mut command = Command::new(path);
    command.env("STATE_DIRECTORY", state_directory());
    command
}

/// Where the agents of this test keep what is known of paths, instead of the host's directory.
#[allow(dead_code)]
pub fn state_directory() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("state-{}", std::process::id()))
}

/// Whether the host has what live switching needs.
#[allow(dead_code)]
pub fn privileged() -> bool {
    has(Need::Bpf, kirikae_agent::requirements())
}

/// Whether the host also has what is needed to emulate paths.
#[allow(dead_code)]
pub fn privileged_with_paths() -> bool {
    privileged() && can_run(&[Need::Tun])
}

/// This process in a cgroup of its own, so that no other connection of the host is switched.
#[allow(dead_code)]
pub struct OwnCgroup {
    /// The directory of the cgroup.
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

    /// Moves this process into a cgroup below it, until that is dropped.
    pub fn enter_below(&self, name: &str) -> OwnCgroup {
        let path = self.path.join(name);
        fs::create_dir(&path).unwrap();
        join(&path);
        OwnCgroup { path, before: self.path.clone() }
    }

    /// Moves this process into it again.
    pub fn enter_again(&self) {
        join(&self.path);
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        // It exists only if an agent was run.
        let _ = fs::remove_dir_all(state_directory());
        join(&self.before);
        // A child that another test of this process has started meanwhile is in it until it ends.
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(error) = fs::remove_dir(&self.path) {
            let is_used = error.kind() == ErrorKind::ResourceBusy && Instant::now() < deadline;
            assert!(is_used, "removing {}: {error}", self.path.display());
            thread::sleep(Duration::from_millis(10));
        }
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

/// Everything that an agent could leave behind, one line a thing.
#[allow(dead_code)]
pub fn host() -> BTreeSet<String> {
    let programs = ProgInfoIter::default().map(|p| format!("program {} {:?}", p.id, p.name));
    let links = LinkInfoIter::default().map(|link| format!("link {}", link.id));
    let maps = MapInfoIter::default().map(|map| format!("map {} {:?}", map.id, map.name));
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    // An agent makes no network namespace; others beside the test may.
    let mounts = mounts.lines().filter(|mount| !mount.starts_with("nsfs "));
    let mounts = mounts.map(|mount| format!("mount {mount}"));
    let sysctls = fs::read_dir("/proc/sys/net/ipv4").unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        Some(format!("{}: {}", path.display(), fs::read_to_string(&path).ok()?.trim_end()))
    });
    let state =
        Path::new(kirikae_agent::DIRECTORY).exists().then(|| kirikae_agent::DIRECTORY.to_owned());
    programs.chain(links).chain(maps).chain(mounts).chain(sysctls).chain(state).collect()
}

/// What exists now and did not before. It waits for ten seconds at most for that to become empty: the kernel
/// frees BPF objects a moment after their last user has gone, and things and network namespaces of others
/// come and go.
#[allow(dead_code)]
pub fn left_since(before: &BTreeSet<String>) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left: Vec<String> = host().difference(before).cloned().collect();
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// An agent on this process's cgroup, as the binary; killed when it is dropped.
#[allow(dead_code)]
pub struct RunningAgent {
    process: Child,
    /// The file to which it writes everything except switches.
    told: PathBuf,
}

/// What is read of the status of any state's agent.
#[derive(Deserialize)]
struct HasCost {
    cost: Cost,
}

#[allow(dead_code)]
impl RunningAgent {
    /// Starts it and waits until it answers. `scope` is appended to its scope's section.
    pub fn start(cgroup: &OwnCgroup, scope: &str) -> RunningAgent {
        RunningAgent::with_policy(kirikae(), cgroup, scope, Stdio::null(), None)
    }

    /// Starts the agent of another state of the code. Only [`cost`](RunningAgent::cost) may be asked of it.
    pub fn start_program(path: &str, cgroup: &OwnCgroup, scope: &str) -> RunningAgent {
        RunningAgent::with_policy(program(path), cgroup, scope, Stdio::null(), None)
    }

    /// Starts it with a choice every round trip. It prints switches to `stdout` and tells the rest to `stderr`, or
    /// to the file that [`told`](RunningAgent::told) reads.
    pub fn start_printing(
        cgroup: &OwnCgroup,
        stdout: Stdio,
        stderr: Option<Stdio>,
    ) -> RunningAgent {
        RunningAgent::with_policy(kirikae(), cgroup, "least-rtt = '0 s'\n", stdout, stderr)
    }

    fn with_policy(
        command: Command,
        cgroup: &OwnCgroup,
        scope: &str,
        stdout: Stdio,
        stderr: Option<Stdio>,
    ) -> RunningAgent {
        let root = kirikae_agent::cgroup_root().unwrap();
        let inside = cgroup.path.strip_prefix(root).unwrap().display().to_string();
        let file = std::env::temp_dir().join(format!("kirikae-{}.toml", std::process::id()));
        fs::write(&file, format!("[[scope]]\ncgroup = '{inside}'\n{scope}")).unwrap();
        let arguments = ["--config", file.to_str().unwrap()];
        let agent = RunningAgent::run(command, &arguments, stdout, stderr);
        fs::remove_file(&file).unwrap();
        agent
    }

    /// Starts it with its program on this cgroup instead of the root, and a choice every round trip.
    pub fn start_inside(cgroup: &OwnCgroup) -> RunningAgent {
        RunningAgent::start_at(cgroup, &["--least-rtt", "0s"])
    }

    /// Starts it with its program on this cgroup, and these options.
    pub fn start_at(cgroup: &OwnCgroup, options: &[&str]) -> RunningAgent {
        let arguments = [&["--cgroup", cgroup.path.to_str().unwrap()], options].concat();
        RunningAgent::run(kirikae(), &arguments, Stdio::null(), None)
    }

    fn run(
        mut command: Command,
        arguments: &[&str],
        stdout: Stdio,
        stderr: Option<Stdio>,
    ) -> RunningAgent {
        let told = std::env::temp_dir().join(format!("kirikae-{}.told", std::process::id()));
        let file = File::create(&told).unwrap();
        command.arg("run").args(arguments).stdout(stdout);
        let process = command.stderr(stderr.unwrap_or(file.into())).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while client::get::<HasCost>("/status").is_err() {
            assert!(Instant::now() < deadline, "the agent does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        RunningAgent { process, told }
    }

    /// The output of the agent, except switches.
    pub fn told(&self) -> String {
        fs::read_to_string(&self.told).unwrap()
    }

    /// The agent's status.
    pub fn status(&self) -> Status {
        client::get("/status").unwrap()
    }

    /// The processor time that its switcher took.
    pub fn cost(&self) -> Cost {
        client::get::<HasCost>("/status").unwrap().cost
    }

    /// A file of /proc/PID.
    pub fn proc(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.process.id().to_string()).join(name)
    }

    /// Sends a signal to the agent.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id() as i32), signal).unwrap();
    }

    /// Ends it as Ctrl-C does.
    pub fn stop(mut self) {
        self.signal(Signal::SIGINT);
        let ended = self.process.wait().unwrap();
        assert!(ended.success(), "{ended}: {}", self.told());
    }

    /// Ends it, and returns its exit status and its output.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.signal(Signal::SIGTERM);
        let status = self.process.wait().unwrap();
        (status, self.told())
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        // If it was stopped, it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.told);
    }
}

/// Makes connections to this address begin with stock cubic, whatever the host's default is. The default of a
/// child namespace cannot be an algorithm that is restricted there, but a route may name one.
#[allow(dead_code)]
pub fn cubic_to(namespace: &str, address: std::net::Ipv4Addr) {
    let mut route = Command::new("ip");
    let route = route.args(["-n", namespace, "route", "get", &address.to_string()]).output();
    let route = String::from_utf8(route.unwrap().stdout).unwrap();
    let device = route.split(" dev ").nth(1).unwrap().split(' ').next().unwrap();
    let mut command = Command::new("ip");
    command.args(["-n", namespace, "route", "replace", &format!("{address}/32")]);
    assert!(command.args(["dev", device, "congctl", "cubic"]).status().unwrap().success());
}

/// The number in a line of a file in /proc such as `VmRSS:  1234 kB`.
#[allow(dead_code)]
pub fn kib(file: impl AsRef<Path>, key: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
