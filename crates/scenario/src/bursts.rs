//! Bursts that are written at given times.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bursts that the application writes at given times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bursts {
    /// Bytes written at once; the mean if exponential.
    pub burst: u64,
    /// How the sizes are distributed.
    pub sizes: Spacing,
    /// Which of the bursts are larger; None: none are.
    pub key: Option<Key>,
    /// Time from the start of one burst to the start of the next; the mean if exponential.
    pub interval: Duration,
    /// How the bursts are spaced.
    pub spacing: Spacing,
    /// On which connection each is.
    #[serde(default, skip_serializing_if = "Connection::is_kept")]
    pub connection: Connection,
    /// Whether a burst is written at its time even if the one before it has not all arrived; otherwise it
    /// waits for that.
    pub overlap: bool,
    /// Number of bursts that are measured.
    pub count: u32,
    /// Number of bursts before them, which are recorded but not counted, because they meet a connection that
    /// has not seen its path yet.
    pub warmup: u32,
}

/// Bursts that are larger now and then, such as key pictures of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Every so many bursts, at least 1, the first one is larger.
    pub every: u32,
    /// It is so many times as large, at least 1.
    pub times: u32,
}

/// On which connection each burst is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// All are written by the client, on one that is kept.
    #[default]
    Kept,
    /// Each is the server's answer on a new one, which the client opens when the burst is due.
    New,
}

impl Connection {
    fn is_kept(&self) -> bool {
        *self == Connection::Kept
    }
}

/// How bursts are spaced in time, or their sizes spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// All are the same.
    Fixed,
    /// Exponentially distributed; in time that is a Poisson process.
    Exponential,
}

impl Bursts {
    /// Whether the burst of the connection of this index, of those that the flows of a group have one after the
    /// other, comes before those that count.
    pub fn is_warmup(&self, index: u32) -> bool {
        index % self.total() < self.warmup
    }

    /// Number of all bursts, warm-up included.
    pub fn total(&self) -> u32 {
        self.warmup + self.count
    }

    /// The factor by which a burst is larger, by its number, warm-up included.
    pub fn times(&self, number: u32) -> u64 {
        self.key.filter(|key| number.is_multiple_of(key.every)).map_or(1, |key| key.times.into())
    }

    /// Bytes of all bursts together.
    pub fn bytes(&self) -> u64 {
        (0..self.total()).map(|number| self.burst * self.times(number)).sum()
    }
}
