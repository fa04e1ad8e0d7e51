//! Bursts by the clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bursts that the application writes by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bursts {
    /// Bytes written at once; the mean if exponential.
    pub burst: u64,
    /// How the sizes are spread.
    pub sizes: Spacing,
    /// Which of them are larger.
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
    /// Bursts that are measured.
    pub count: u32,
    /// Bursts before them, which are recorded but not counted: they meet a connection that has
    /// not yet seen its path.
    pub warmup: u32,
}

/// Key pictures, or what else is larger now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The first of so many bursts, at least 1 ...
    pub every: u32,
    /// ... is so many times as large, at least 1.
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

    /// By how many times a burst is larger than it would be, by its number, warm-up included.
    pub fn times(&self, number: u32) -> u64 {
        self.key.filter(|key| number.is_multiple_of(key.every)).map_or(1, |key| key.times.into())
    }

    /// Bytes written in all.
    pub fn bytes(&self) -> u64 {
        (0..self.total()).map(|number| self.burst * self.times(number)).sum()
    }
}
