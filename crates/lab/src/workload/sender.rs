//! The writing end: a process of its own, so that it has its own cgroup and network namespace
//! and shows in `ss -tip`.
//!
//! It is `kirikae burst-sender ASSIGNMENT` and prints one [`Sent`] as a JSON line per burst.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use nix::sys::{prctl::set_pdeathsig, signal::Signal};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::clock::{now_ns, sleep_until, until};
use super::pattern::Pattern;
use super::{Bursts, abort_on_close, schedule};
use crate::error::{Error, While};

/// Name of the hidden subcommand that runs a sender.
pub const SUBCOMMAND: &str = "burst-sender";

/// Everything that a sender has to know; its only argument, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// What to write.
    pub workload: Bursts,
    /// Seed of the spacing.
    pub seed: u64,
    /// When the first burst is due, CLOCK_MONOTONIC in nanoseconds.
    pub start_ns: u64,
    /// When to give up whatever is not done, on the same clock.
    pub deadline_ns: u64,
    /// The network namespace to join.
    pub namespace: PathBuf,
    /// The cgroup to join, if any.
    pub cgroup: Option<PathBuf>,
    /// Congestion control to ask for by name; none leaves the namespace's default.
    pub congestion_control: Option<String>,
    /// Where to connect from; the port tells connections apart.
    pub local: SocketAddrV4,
    /// Where to connect to.
    pub remote: SocketAddrV4,
}

/// One burst as the sender wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Its number, from 0, warm-up included.
    pub index: u32,
    /// When it was due, CLOCK_MONOTONIC in nanoseconds.
    pub due_ns: u64,
    /// When its write began, on the same clock. Where an earlier write had not yet returned when
    /// this burst was due, this is the due time: waiting counts (no coordinated omission).
    pub start_ns: u64,
    /// Bytes of the stream before it.
    pub offset: u64,
    /// Bytes in it.
    pub bytes: u64,
    /// TCP_CONGESTION just before the write.
    pub algorithm_before: Cow<'static, str>,
    /// TCP_CONGESTION when the write had returned.
    pub algorithm_after: Cow<'static, str>,
}

/// Does what the assignment (JSON) says; returns when the receiver has closed the connection,
/// which it does when it has everything, or at the deadline.
///
/// # Errors
/// An assignment that is not one, a namespace, cgroup or algorithm that is not there, no
/// connection before the deadline, or a parent that no longer reads.
pub fn run(assignment: &str) -> Result<(), Error> {
    let assignment: Assignment = serde_json::from_str(assignment)
        .map_err(|error| Error::Failed(format!("the sender's assignment: {error}")))?;
    set_pdeathsig(Signal::SIGKILL).during(|| "asking to die with the parent".into())?;
    join(&assignment)?;
    let stream = connect(&assignment)?;
    write_bursts(&assignment, stream)
}

/// Cgroup and namespace come first: a socket belongs to those it was made in.
fn join(assignment: &Assignment) -> Result<(), Error> {
    if let Some(cgroup) = &assignment.cgroup {
        std::fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string())
            .during(|| format!("joining cgroup {}", cgroup.display()))?;
    }
    let namespace = &assignment.namespace;
    std::fs::File::open(namespace)
        .and_then(|file| Ok(setns(file, CloneFlags::CLONE_NEWNET)?))
        .during(|| format!("joining network namespace {}", namespace.display()))
}

fn connect(assignment: &Assignment) -> Result<Socket, Error> {
    let connected = || -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        if let Some(name) = &assignment.congestion_control {
            socket.set_tcp_congestion(name.as_bytes())?;
        }
        socket.set_tcp_nodelay(true)?;
        abort_on_close(&socket)?;
        socket.bind(&assignment.local.into())?;
        socket.connect_timeout(&assignment.remote.into(), until(assignment.deadline_ns))?;
        Ok(socket)
    };
    let socket = connected().during(|| {
        let name = assignment.congestion_control.as_deref().unwrap_or("the default");
        format!("connecting to {} with {name} as congestion control", assignment.remote)
    })?;
    // A route may overrule the socket: better no measurement than one under another's name.
    let used = algorithm(&socket)?;
    match &assignment.congestion_control {
        Some(asked) if *asked != used => {
            Err(Error::Failed(format!("asked for {asked} as congestion control, got {used}")))
        }
        _ => Ok(socket),
    }
}

fn write_bursts(assignment: &Assignment, socket: Socket) -> Result<(), Error> {
    let pattern = Pattern::new();
    let mut stream = TcpStream::from(socket);
    let mut free_ns = now_ns();
    for (index, due) in (0..).zip(schedule::due_times(&assignment.workload, assignment.seed)) {
        let range = assignment.workload.range(index);
        let data = pattern.bytes(range.clone());
        let due_ns = assignment.start_ns + due.as_nanos() as u64;
        sleep_until(due_ns);

        let algorithm_before = algorithm(&stream)?.into();
        let start_ns = if free_ns > due_ns { due_ns } else { now_ns() };
        if !write_all(&mut stream, &data, assignment.deadline_ns)? {
            return Ok(());
        }
        free_ns = now_ns();
        let algorithm_after = algorithm(&stream)?.into();
        let (offset, bytes) = (range.start, data.len() as u64);
        print(&Sent { index, due_ns, start_ns, offset, bytes, algorithm_before, algorithm_after })?;
    }
    wait_for_close(&mut stream, assignment.deadline_ns)
}

/// Waits until the receiver has closed, or the deadline has come.
fn wait_for_close(stream: &mut TcpStream, deadline_ns: u64) -> Result<(), Error> {
    loop {
        stream.set_read_timeout(Some(time_left(deadline_ns))).during(waiting)?;
        return match stream.read(&mut [0]) {
            Ok(_) => Ok(()),
            Err(error) => match error.kind() {
                ErrorKind::ConnectionReset | ErrorKind::WouldBlock => Ok(()),
                // Linux does not resume a call with a time-out after the process was stopped.
                ErrorKind::Interrupted => continue,
                _ => Err(error).during(waiting),
            },
        };
    }
}

fn waiting() -> String {
    "waiting for the receiver".into()
}

/// A socket time-out of zero would mean none at all.
fn time_left(deadline_ns: u64) -> Duration {
    until(deadline_ns).max(Duration::from_millis(1))
}

/// Writes everything; false if the deadline passed first.
fn write_all(stream: &mut TcpStream, mut data: &[u8], deadline_ns: u64) -> Result<bool, Error> {
    let writing = || "writing a burst".into();
    while !data.is_empty() {
        if until(deadline_ns).is_zero() {
            return Ok(false);
        }
        stream.set_write_timeout(Some(time_left(deadline_ns))).during(writing)?;
        match stream.write(data) {
            Ok(written) => data = &data[written..],
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return Ok(false),
                ErrorKind::Interrupted => {}
                _ => return Err(error).during(writing),
            },
        }
    }
    Ok(true)
}

fn algorithm<'s>(socket: impl Into<SockRef<'s>>) -> Result<String, Error> {
    let name = socket
        .into()
        .tcp_congestion()
        .during(|| "asking for the congestion control in use".into())?;
    Ok(String::from_utf8_lossy(&name).trim_end_matches('\0').into())
}

/// One line at a time and at once, so that an interrupted run keeps what was measured.
fn print(sent: &Sent) -> Result<(), Error> {
    let line = serde_json::to_string(sent).expect("plain numbers and strings") + "\n";
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.flush())
        .during(|| "reporting a burst".into())
}
