//! What is looked at on each kernel, and what came of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Every algorithm is registered, carries data, and is taken out again.
    Load,
    /// The kernel verifies the switcher with room to spare.
    Verify,
    /// Connections that are open when the agent starts are taken in.
    Adopt,
    /// The window survives idle time.
    Idle,
    /// A connection that loses packets is switched.
    Switch,
    /// The retransmission timer is shortened.
    Timer,
    /// A connection outlives an outage, with the time after which the kernel gives it up.
    Outage,
    /// The kernel goes on when the agent is killed; `kirikae undo` restores everything and leaves nothing.
    Undo,
    /// `observe` makes choices and changes nothing.
    Observe,
    /// Another policy is put in force, and open connections follow.
    Reload,
    /// An agent that is told to end restores everything and leaves nothing.
    Stop,
}

impl Capability {
    /// In the order in which they are looked at.
    pub const ALL: [Capability; 11] = [
        Capability::Load,
        Capability::Verify,
        Capability::Adopt,
        Capability::Idle,
        Capability::Switch,
        Capability::Timer,
        Capability::Outage,
        Capability::Undo,
        Capability::Observe,
        Capability::Reload,
        Capability::Stop,
    ];

    /// The head of its column.
    pub fn title(self) -> &'static str {
        match self {
            Capability::Load => "load",
            Capability::Verify => "verify",
            Capability::Adopt => "adopt",
            Capability::Idle => "idle",
            Capability::Switch => "switch",
            Capability::Timer => "timer",
            Capability::Outage => "outage",
            Capability::Undo => "undo",
            Capability::Observe => "observe",
            Capability::Reload => "reload",
            Capability::Stop => "stop",
        }
    }
}

/// What came of it, with what was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Works(String),
    /// The kernel does not have what it takes.
    Lacks(String),
    Fails(String),
}

/// A line that the guest prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub capability: Capability,
    pub outcome: Outcome,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (how, seen) = match &self.outcome {
            Outcome::Works(seen) => ("works", seen),
            Outcome::Lacks(seen) => ("is lacking", seen),
            Outcome::Fails(seen) => ("FAILS", seen),
        };
        write!(f, "{}: {how}, {seen}", self.capability.title())
    }
}
