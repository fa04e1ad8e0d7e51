//! The player of a network: a process of its own, in whose sockets its connections begin and end, so that
//! clients have their own cgroup and hosts their network namespaces, and all shows in `ss -tip`.
//!
//! It is `kirikae-lab player`. On its standard input it is told in a line what to play (`Assignment`) and
//! says `ready`; then, in another line, when to begin, and tells at the end what came of it. When its
//! input ends it does: early, if nothing else has ended yet.

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

/// What a player says when it waits for the time to begin at.
pub(crate) const READY: &str = "ready";

/// Files that are open beside the sockets.
const OTHER_FILES: u64 = 64;

/// Plays what it is told on standard input.
///
/// # Errors
/// An assignment that is not one; a namespace, cgroup or algorithm that is not there; a connection that
/// breaks, or carries another byte than was written; a parent that no longer reads.
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
    // Where it is not allowed, the writes come a little late on a busy machine.
    let _ = go_before_ordinary_threads(Rank::Program);
    let sockets = Sockets::make(&assignment)?;
    tell(READY)?;
    let start = line()?;
    if start.is_empty() {
        // The parent has thought better of it.
        return Ok(());
    }
    let report = Stage::new(&assignment, sockets, parse(&start)?)?.play()?;
    tell(&report)?;
    // What is sent when the sockets are closed is no part of it.
    while !line()?.is_empty() {}
    Ok(())
}

fn parse<T: serde::de::DeserializeOwned>(line: &str) -> Result<T, Error> {
    serde_json::from_str(line).map_err(|error| Error::Failed(format!("a player was told: {error}")))
}

/// A line of JSON.
fn tell(what: &(impl Serialize + ?Sized)) -> Result<(), Error> {
    let line = serde_json::to_string(what).expect("plain numbers and strings") + "\n";
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.flush())
        .during(|| "telling what was played".into())
}
