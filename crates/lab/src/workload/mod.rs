//! Bursts over one long-lived TCP connection, written and read by real sockets.

pub mod clock;
pub mod pattern;
pub mod receiver;
pub mod schedule;
pub mod sender;

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use socket2::SockRef;

/// Bursts that the application writes by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bursts {
    /// Bytes written at once; the mean if exponential.
    pub burst: u64,
    /// How the sizes are spread; in the simulator they may differ.
    pub sizes: Spacing,
    /// Time from the start of one burst to the start of the next; the mean if exponential.
    pub interval: Duration,
    /// How the bursts are spaced.
    pub spacing: Spacing,
    /// Whether a burst is written at its time even if the one before it has not all arrived; in the
    /// simulator it may wait for that.
    pub overlap: bool,
    /// Bursts that are measured.
    pub count: u32,
    /// Bursts before them, which are recorded but not counted: they meet a connection that has
    /// not yet seen its path.
    pub warmup: u32,
}

/// How bursts are spaced in time, or their sizes spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// All alike.
    Fixed,
    /// Exponentially distributed; in time a Poisson process.
    Exponential,
}

impl Bursts {
    /// Bursts written in all, warm-up included.
    pub fn total(&self) -> u32 {
        self.warmup + self.count
    }

    /// Bytes written in all.
    pub fn bytes(&self) -> u64 {
        self.burst * u64::from(self.total())
    }

    /// Bytes of the stream that burst `index` takes.
    pub fn range(&self, index: u32) -> std::ops::Range<u64> {
        let offset = self.burst * u64::from(index);
        offset..offset + self.burst
    }
}

/// Lets a socket end at once when it is closed, also by a kill. Otherwise it would wait for minutes,
/// with its namespace and its algorithm, for answers over a path that is gone. When the receiver
/// closes, everything has been read.
fn abort_on_close<'s>(socket: impl Into<SockRef<'s>>) -> io::Result<()> {
    socket.into().set_linger(Some(Duration::ZERO))
}
