//! The player of a network: a process of its own that has both ends of its connections. So clients have their
//! own cgroup and hosts their network namespaces, and `ss -tip` shows everything.
//!
//! It is `kirikae-lab player`. A line on its standard input tells it what to play (`Assignment`), and it
//! answers `ready`. Another line tells it when to begin, and at the end it reports the results. When its
//! input ends, it ends too: early, if it has not finished.

mod assignment;
pub(crate) mod clock;
mod connection;
mod endpoint;
pub(crate) mod pattern;
mod sockets;
mod stage;
mod tcp_info;

use std::io::{self, BufRead, Write};

use kirikae_emu::{Rank, go_before_ordinary_threads};
use kirikae_results::{Error, While};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use serde::Serialize;

pub(crate) use assignment::{
    Assignment, FlowAssignment, GroupAssignment, HostAssignment, PlayerReport,
};
use sockets::Sockets;
use stage::Stage;

/// Name of the hidden subcommand that runs a player.
pub const SUBCOMMAND: &str = "player";

/// The answer of a player that waits for the time to begin.
pub(crate) const READY: &str = "ready";

/// Number of files that are open besides the sockets.
const OTHER_FILES: u64 = 64;

/// Plays what its standard input says.
///
/// # Errors
/// Fails if the assignment is invalid; if a namespace, cgroup or algorithm does not exist; if a connection
/// breaks, or carries another byte than was written; and if the parent no longer reads.
pub fn run() -> Result<(), Error> {
    set_pdeathsig(Signal::SIGKILL).during(|| "asking to die with the parent".into())?;
    let mut lines = io::stdin().lock().lines();
    let mut line = || {
        let line = lines.next().transpose().during(|| "reading what to play".into())?;
        Ok::<_, Error>(line.unwrap_or_default())
    };
    let assignment: Assignment = parse(&line()?)?;
    let flows: usize = assignment.groups.iter().map(|group| group.flows.len()).sum();
    let files = 2 * flows as u64 + OTHER_FILES;
    setrlimit(Resource::RLIMIT_NOFILE, files, files).during(|| format!("opening {files} files"))?;
    // If it is not allowed, writes come a little late on a busy machine.
    let _ = go_before_ordinary_threads(Rank::Program);
    let sockets = Sockets::make(&assignment)?;
    tell(READY)?;
    let start = line()?;
    if start.is_empty() {
        // The parent has ended the run before its beginning.
        return Ok(());
    }
    let report = Stage::new(&assignment, sockets, parse(&start)?)?.play()?;
    tell(&report)?;
    // What is sent while the sockets are closed is no part of the results.
    while !line()?.is_empty() {}
    Ok(())
}

fn parse<T: serde::de::DeserializeOwned>(line: &str) -> Result<T, Error> {
    serde_json::from_str(line).map_err(|error| Error::Failed(format!("a player was told: {error}")))
}

/// Writes a line of JSON.
fn tell(what: &(impl Serialize + ?Sized)) -> Result<(), Error> {
    let line = serde_json::to_string(what).expect("plain numbers and strings") + "\n";
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.flush())
        .during(|| "telling what was played".into())
}
