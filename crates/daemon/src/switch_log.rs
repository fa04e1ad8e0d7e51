//! Keeps the latest switches for those who ask.

use std::collections::{BTreeMap, VecDeque};

use kirikae_vocabulary::Switch;

use crate::status::Numbered;

/// How many switches are remembered.
pub const REMEMBERED: usize = 10_000;

/// Remembers the latest switches, and counts all of them.
#[derive(Debug, Default)]
pub struct SwitchLog {
    latest: VecDeque<Numbered>,
    /// The number of switches that were made, by reason.
    pub made: BTreeMap<String, u64>,
    /// The number of choices that were only observed.
    pub observed: u64,
}

impl SwitchLog {
    /// Adds the next switch.
    pub fn push(&mut self, switch: Switch) {
        if switch.observed {
            self.observed += 1;
        } else {
            *self.made.entry(switch.reason.to_string()).or_default() += 1;
        }
        if self.latest.len() == REMEMBERED {
            self.latest.pop_front();
        }
        let number = self.observed + self.made.values().sum::<u64>();
        self.latest.push_back(Numbered { number, switch });
    }

    /// The switches with a number above `after` that are still remembered, the oldest first.
    pub fn after(&self, after: u64) -> Vec<Numbered> {
        self.latest.iter().filter(|it| it.number > after).cloned().collect()
    }
}
