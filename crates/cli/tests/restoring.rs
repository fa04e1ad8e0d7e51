//! Restoring does not give up half way: what is in the way of one network namespace is not in that of another, and what
//! could not be restored can be restored later.
//!
//! It needs root. It is one test function, since the host can have one agent at a time.

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};

use common::{OwnCgroup, RunningAgent, algorithm, privileged};

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(10);
const CONNECTIONS: usize = 4;

#[test]
fn restoring_does_not_give_up_half_way() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();
    stale_names_are_in_nobodys_way(&cgroup);
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
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap();
            assert!(up.success());
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
