//! A player as its parent sees it: a process that is told what to play, and reports the results.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use kirikae_results::{Error, While};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use serde::Serialize;

use crate::player::{Assignment, PlayerReport, READY, SUBCOMMAND};

/// How long the parent waits before it asks again whether to stop, milliseconds.
const TICK_MS: u16 = 100;

/// The process; it is ended when this is dropped.
pub struct Player {
    child: Child,
    /// The player's input; None once it was told to end.
    told: Option<ChildStdin>,
    tells: BufReader<ChildStdout>,
}

impl Player {
    /// Starts a player with this assignment.
    pub fn start(assignment: &Assignment) -> Result<Player, Error> {
        let program = std::env::current_exe().during(|| "finding this program's file".into())?;
        let mut child = Command::new(program)
            .arg(SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is meant for the parent, which ends the players after it has read what they measured.
            .process_group(0)
            .spawn()
            .during(|| "starting a player".into())?;
        let told = child.stdin.take();
        let tells = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut player = Player { child, told, tells };
        player.tell(assignment)?;
        Ok(player)
    }

    /// Waits until it has made its sockets.
    pub fn wait_until_ready(&mut self) -> Result<(), Error> {
        match self.line()? {
            line if line == format!("\"{READY}\"") => Ok(()),
            line => Err(Error::Failed(format!("a player said {line:?} and not that it is ready"))),
        }
    }

    /// Lets it begin when CLOCK_MONOTONIC is at `start_ns`, nanoseconds.
    pub fn begin(&mut self, start_ns: u64) -> Result<(), Error> {
        self.tell(&start_ns)
    }

    /// Waits until it has played, or until `stop` returns true and it was ended early; returns its report.
    pub fn report(&mut self, stop: impl Fn() -> bool) -> Result<PlayerReport, Error> {
        while !self.has_said_something()? {
            if stop() {
                self.told = None;
            }
        }
        let line = self.line()?;
        serde_json::from_str(&line)
            .map_err(|error| Error::Failed(format!("a player printed {line:?}: {error}")))
    }

    /// Lets it close its sockets and end.
    pub fn dismiss(mut self) -> Result<(), Error> {
        self.told = None;
        self.child.wait().during(|| "waiting for a player".into())?;
        Ok(())
    }

    /// Whether it has said something within a tick.
    fn has_said_something(&self) -> Result<bool, Error> {
        let mut fds = [PollFd::new(self.tells.get_ref().as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, TICK_MS) {
            Err(Errno::EINTR) => Ok(false),
            ready => Ok(ready.during(|| "waiting for a player".into())? > 0),
        }
    }

    fn tell(&mut self, what: &impl Serialize) -> Result<(), Error> {
        let line = serde_json::to_string(what).expect("plain numbers and strings") + "\n";
        let told = self.told.as_mut().expect("it was not told to end");
        match told.write_all(line.as_bytes()).and_then(|()| told.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(self.failure()),
            told => told.during(|| "telling a player what to play".into()),
        }
    }

    fn line(&mut self) -> Result<String, Error> {
        let mut line = String::new();
        let read = self.tells.read_line(&mut line).during(|| "reading what a player says".into());
        if read? == 0 {
            return Err(self.failure());
        }
        Ok(line.trim_end().to_owned())
    }

    /// The error that it reports if it ended without having played.
    fn failure(&mut self) -> Error {
        let mut says = String::new();
        let stderr = self.child.stderr.as_mut().expect("its errors are a pipe");
        match stderr.read_to_string(&mut says) {
            Ok(_) => Error::Failed(format!("a player failed: {}", says.trim())),
            Err(error) => Error::Failed(format!("a player failed, and why was not told: {error}")),
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // If it was dismissed, it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
