//! Restoring does not give up half way: what is in the way of one network namespace is not in that of another, and what
//! could not be restored can be restored later.
//!
//! It needs root. It is one test function, since the host can have one agent at a time.

mod common;

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kirikae_checks::{Need, has};
use kirikae_neighbour::{Habit, Neighbour};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use common::{OwnCgroup, RunningAgent, algorithm, kirikae, privileged};

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(10);
const STOPPED_WITHIN: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 4;

#[test]
fn restoring_does_not_give_up_half_way() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    stale_names_are_in_nobodys_way(&cgroup);
    where_nobody_leads_is_no_failure(&cgroup);
    a_directory_of_somebody_elses_is_refused();
    half_a_restorer_is_taken_away();
    if has(Need::Root, has_fuse()) {
        who_holds_a_lock_keeps_nobody_waiting(&cgroup);
        who_holds_a_lock_is_told_of_once(&cgroup);
    }
}

fn stale_names_are_in_nobodys_way(cgroup: &OwnCgroup) {
    let _first = StaleName::leave("a");
    let agent = RunningAgent::start_inside(cgroup);
    let tenant = Tenant::begin();
    let _second = StaleName::leave("b");
    tenant.is_switched();
    agent.stop();
    tenant.is_restored();
}

/// Sockets outlive the processes of their network namespace where those of another one hold them.
fn where_nobody_leads_is_no_failure(cgroup: &OwnCgroup) {
    let agent = RunningAgent::start_inside(cgroup);
    let (mut near, mut far) = thread::spawn(|| {
        enter_a_new_namespace();
        connect()
    })
    .join()
    .unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !algorithm(&near).starts_with("kk_") {
        assert!(Instant::now() < deadline);
        talk(&mut near, &mut far);
    }
    let is_told = |told: &str| told.contains("no process or name leads to their network namespace");
    let (status, told) = agent.end();
    assert!(status.success() && is_told(&told), "{told}");
    let (status, told) = undo();
    assert!(status == Some(0) && is_told(&told), "{told}");

    drop((near, far));
    let (status, told) = undo();
    assert!(status == Some(0) && told.contains("everything removed"), "{told}");
    assert!(undo().1.contains("nothing to undo"));
}

/// Where everybody may make directories beside the agent's, what is pinned may be anybody's.
fn a_directory_of_somebody_elses_is_refused() {
    let pins = Path::new(kirikae_agent::DIRECTORY).join("bpf");
    fs::create_dir_all(&pins).unwrap();
    fs::set_permissions(&pins, Permissions::from_mode(0o777)).unwrap();
    let (status, told) = undo();
    assert!(status == Some(3) && told.contains("is in the way"), "{told}");
    fs::remove_dir_all(kirikae_agent::DIRECTORY).unwrap();
}

/// Who is killed while pinning has switched nothing yet.
fn half_a_restorer_is_taken_away() {
    let pins = Path::new(kirikae_agent::DIRECTORY).join("bpf");
    fs::create_dir_all(pins.join("restorer-1")).unwrap();
    fs::set_permissions(&pins, Permissions::from_mode(0o700)).unwrap();
    let (status, told) = undo();
    assert!(status == Some(0) && told.contains("everything removed"), "{told}");
    assert!(undo().1.contains("nothing to undo"));
}

/// The kernel waits for the lock of a socket for as long as a program likes to hold it, and nothing ends that.
fn who_holds_a_lock_keeps_nobody_waiting(cgroup: &OwnCgroup) {
    let tenant = Tenant::begin();
    let agent = RunningAgent::start_inside(cgroup);
    let mut holder = Holder::begin();
    tenant.is_switched();
    stops(agent, &holder);
    tenant.is_restored();
    let (status, told) = undo();
    assert!(status == Some(1) && holder.is_named(&told), "{told}");

    // Another agent begins all the same, and ends.
    let agent = RunningAgent::start_inside(cgroup);
    tenant.is_switched();
    stops(agent, &holder);
    tenant.is_restored();

    holder.release();
    is_undone_in_the_end();
    let (_, told) = undo();
    assert!(told.contains("nothing to undo"), "{told}");
}

/// Each second the agent looks through sockets again, where another program takes callbacks.
fn who_holds_a_lock_is_told_of_once(cgroup: &OwnCgroup) {
    let agent = RunningAgent::start_inside(cgroup);
    let mut holder = Holder::begin();
    let _neighbour = Neighbour::attach(Habit::TakesCallbacksOnce, &cgroup.path).unwrap();
    for _ in 0..3 {
        let before = agent.status().asked_again;
        let (mut near, mut far) = connect();
        let deadline = Instant::now() + PATIENCE;
        while agent.status().asked_again == before {
            assert!(Instant::now() < deadline, "{}", agent.told());
            talk(&mut near, &mut far);
            thread::sleep(Duration::from_millis(10));
        }
    }
    let told = agent.told();
    holder.release();
    agent.end();
    is_undone_in_the_end();
    let lines = told.lines().filter(|line| holder.is_named(line) && line.contains("again"));
    assert_eq!(lines.count(), 1, "{told}");
}

/// It ends in time, and names who holds a lock.
fn stops(agent: RunningAgent, holder: &Holder) {
    let begun = Instant::now();
    let (status, told) = agent.end();
    assert!(begun.elapsed() < STOPPED_WITHIN, "{:?}", begun.elapsed());
    assert_eq!(status.code(), Some(1), "{told}");
    assert!(holder.is_named(&told), "{told}");
}

fn is_undone_in_the_end() {
    let deadline = Instant::now() + PATIENCE;
    while undo().0 != Some(0) {
        assert!(Instant::now() < deadline, "{}", undo().1);
    }
}

/// The exit status of `kirikae undo`, and what it told.
fn undo() -> (Option<i32>, String) {
    let done = kirikae().arg("undo").output().unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

fn has_fuse() -> Result<(), &'static str> {
    let kinds = fs::read_to_string("/proc/filesystems").unwrap();
    if kinds.contains("\tfuse\n") { Ok(()) } else { Err("this kernel has no FUSE") }
}

/// A program that holds the lock of a socket: it sends from a file whose pages do not come.
struct Holder {
    process: Child,
    mount_point: PathBuf,
}

impl Holder {
    fn begin() -> Holder {
        let name = format!("kirikae-test-{}", std::process::id());
        let mount_point = std::env::temp_dir().join(name);
        fs::create_dir(&mount_point).unwrap();
        let siege = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/siege");
        let mut command = Command::new("unshare");
        let command = command.args(["--net", "--mount"]).arg(siege).args(["--play", "lock", "1"]);
        let command = command.arg("/dev/fuse").arg(&mount_point).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "ready\n");
        Holder { process, mount_point }
    }

    fn is_named(&self, told: &str) -> bool {
        told.contains(&format!("of process {} ", self.process.id()))
    }

    fn release(&mut self) {
        kill(Pid::from_raw(self.process.id() as i32), Signal::SIGUSR1).unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It does not end before its pages have come.
        self.release();
        thread::sleep(Duration::from_millis(20));
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir(&self.mount_point);
    }
}

/// A file in /run/netns where a namespace was: its mount has gone, and its name has stayed.
struct StaleName(PathBuf);

impl StaleName {
    fn leave(name: &str) -> StaleName {
        let directory = Path::new("/run/netns");
        fs::create_dir_all(directory).unwrap();
        let path = directory.join(format!("kirikae-test-{}-{name}", std::process::id()));
        File::create(&path).unwrap();
        StaleName(path)
    }
}

impl Drop for StaleName {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Connections in a network namespace of their own, which has no name.
struct Tenant {
    questions: Sender<()>,
    algorithms: Receiver<Vec<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Tenant {
    fn begin() -> Tenant {
        let (questions, asked) = mpsc::channel();
        let (answers, algorithms) = mpsc::channel();
        let thread = thread::spawn(move || {
            enter_a_new_namespace();
            let mut pairs: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
            for () in asked {
                pairs.iter_mut().for_each(|(near, far)| talk(near, far));
                let used = pairs.iter().map(|(near, _)| algorithm(near)).collect();
                answers.send(used).unwrap();
            }
        });
        Tenant { questions, algorithms, thread: Some(thread) }
    }

    /// The algorithms of its connections, after something was sent on each.
    fn algorithms(&self) -> Vec<String> {
        self.questions.send(()).unwrap();
        self.algorithms.recv().unwrap()
    }

    fn is_switched(&self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.algorithms().iter().all(|it| it.starts_with("kk_")) {
            assert!(Instant::now() < deadline, "{:?}", self.algorithms());
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_restored(&self) {
        let used = self.algorithms();
        assert!(!used.iter().any(|it| it.starts_with("kk_")), "{used:?}");
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        self.questions = mpsc::channel().0;
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

fn enter_a_new_namespace() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap();
    assert!(up.success());
}

fn connect() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

fn talk(near: &mut TcpStream, far: &mut TcpStream) {
    let mut received = [0; 10_000];
    near.write_all(&received).unwrap();
    far.read_exact(&mut received).unwrap();
}
