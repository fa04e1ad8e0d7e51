//! Nobody who reads what is printed, or does not, ends a command by a panic, or keeps the agent from its work.

mod common;

use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::Signal;

use common::{OwnCgroup, RunningAgent, kirikae, privileged};

/// 128 + SIGPIPE, as shells have it.
const CLOSED: i32 = 141;
/// How long anything may take before it is said to hang.
const PATIENCE: Duration = Duration::from_secs(20);

fn closed() -> PipeWriter {
    io::pipe().unwrap().1
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// Checks that a command that prints something ends as it should if nobody takes it.
fn end_well(arguments: &[&str]) {
    let run = |command: &mut Command| -> Output {
        let output = command.args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        output
    };
    let output = run(kirikae().stdout(closed()));
    assert_eq!(output.status.code(), Some(CLOSED), "{arguments:?}, closed: {output:?}");
    assert!(output.stderr.is_empty(), "{arguments:?}, closed: {output:?}");
    let output = run(kirikae().stdout(full()));
    assert_eq!(output.status.code(), Some(1), "{arguments:?}, full: {output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("No space left"), "{arguments:?}, full: {said}");
}

#[test]
fn commands_end_well_if_nobody_takes_what_they_print() {
    let directory = tempfile::tempdir().unwrap();
    let policy = directory.path().join("policy.toml");
    std::fs::write(&policy, "[[scope]]\nname = 'all'\n").unwrap();
    let policy = policy.to_str().unwrap();
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["help", "run"],
        &["run", "--help"],
        &["algorithms"],
        &["algorithms", "--json"],
        &["check", policy],
        &["doctor"],
        &["doctor", "--json"],
        &["explain", "100ms"],
        &["explain", "100ms", "--json"],
        &["support"],
    ] {
        end_well(arguments);
    }
}

#[test]
fn commands_end_well_if_nobody_takes_their_errors() {
    for arguments in [&["reload"][..], &["explain", "no time"], &["sim"], &["undo", "this"]] {
        let status = kirikae().args(arguments).stderr(closed()).status().unwrap();
        assert!(status.code().is_some_and(|code| code < 100), "{arguments:?}: {status}");
        let status = kirikae().args(arguments).stderr(full()).status().unwrap();
        assert!(status.code().is_some_and(|code| code < 100), "{arguments:?}: {status}");
    }
}

/// Makes connections over loopback that the agent switches.
fn make_switches() -> Vec<TcpStream> {
    let mut kept = Vec::new();
    for _ in 0..40 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        for _ in 0..6 {
            near.write_all(&[7; 10_000]).unwrap();
            far.read_exact(&mut [0; 10_000]).unwrap();
            thread::sleep(Duration::from_millis(5));
        }
        kept.extend([near, far]);
    }
    kept
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn switches(agent: &RunningAgent) -> u64 {
    agent.status().switches.values().sum()
}

/// Starts an agent that prints to `stdout`, and has it print switches that nobody takes.
fn with_switches(cgroup: &OwnCgroup, stdout: impl Into<Stdio>) -> RunningAgent {
    let agent = RunningAgent::start_printing(cgroup, stdout.into(), None);
    let kept = make_switches();
    wait_until("switched", || switches(&agent) >= 30);
    drop(kept);
    agent
}

#[test]
fn an_agent_goes_on_whoever_reads_what_it_prints() {
    if !privileged() {
        return;
    }
    let cgroup = OwnCgroup::enter();

    // A reader that has stopped, and a pipe that has room for a few lines.
    let (reader, writer) = io::pipe().unwrap();
    fcntl(&writer, FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
    let agent = with_switches(&cgroup, writer);
    for arguments in [&["status"][..], &["status", "--json"], &["paths"], &["paths", "--json"]] {
        end_well(arguments);
    }
    end_well(&["log"]);
    let begun = Instant::now();
    agent.stop();
    assert!(begun.elapsed() < Duration::from_secs(5), "stopped after {:?}", begun.elapsed());
    drop(reader);

    // A full disk, and a reader that has gone: what is lost is counted.
    for stdout in [Stdio::from(full()), Stdio::from(closed())] {
        let agent = with_switches(&cgroup, stdout);
        wait_until("counted", || agent.status().lines_lost > 0);
        agent.stop();
    }

    // Nobody hears its messages.
    let agent = RunningAgent::start_printing(&cgroup, Stdio::null(), Some(closed().into()));
    agent.signal(Signal::SIGHUP);
    wait_until("counted", || agent.status().lines_lost > 0);
    agent.stop();
}
