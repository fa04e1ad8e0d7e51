//! What the agent tells of itself, as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use kirikae_agent::{Connection, Cost};
use kirikae_vocabulary::Switch;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// GET /status
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the agent.
    pub version: String,
    /// For how long it has been running, seconds.
    pub up_s: f64,
    /// The policy in force.
    pub policy: PolicyInForce,
    /// How many connections are remembered.
    pub connections: usize,
    /// How many of these there are of each algorithm in use.
    pub by_algorithm: BTreeMap<String, usize>,
    /// How many of these there are of each treatment.
    pub by_treatment: BTreeMap<String, usize>,
    /// Switches reported, by reason.
    pub switches: BTreeMap<String, u64>,
    /// Choices reported of connections that are only observed.
    pub observed: u64,
    /// Switches that nobody was told of, because they came too fast.
    pub events_lost: u64,
    /// How often callbacks of a connection were asked for again, because another sock_ops program had taken them.
    pub asked_again: u64,
    /// Connections for which the kernel refused that at the latest look: nothing is heard of them.
    pub unheard: usize,
    /// What bursts took.
    pub bursts: Vec<Bursts>,
    /// What the switcher took of the processor; zero while nothing counts it.
    pub cost: Cost,
}

/// Where the policy is from, and what it says in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyInForce {
    /// The file; none where options on the command line took its place.
    pub file: Option<String>,
    /// Counts up with each reload, from 1.
    pub generation: u32,
    /// Its scopes, in order.
    pub scopes: Vec<ScopeInForce>,
}

/// A scope in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScopeInForce {
    /// What it is called.
    pub name: String,
    /// The connections that belong to it, in words.
    pub matches: String,
    /// Algorithms that may be chosen.
    pub algorithms: Vec<String>,
    /// What else is not as usual, in words.
    pub settings: Vec<String>,
    /// What its guard has found out; none where it has none, or is only observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guarding>,
}

/// What the guard of a scope has found out (docs/guard.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guarding {
    /// cannot-judge, helps, no-difference, not-known-yet or hurts.
    pub verdict: String,
    /// The same in words, with what it rests on.
    pub says: String,
    /// What switched bursts take over what stock ones take, and before and behind it the ends of its interval; none
    /// where nothing can be said.
    pub ratio: Option<[f64; 3]>,
    /// Bursts that it rests on.
    pub bursts: u64,
    /// Whether the scope is only observed because switching hurts.
    pub suspended: bool,
}

/// What bursts of one scope and size took, since the agent was started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bursts {
    /// Name of the scope.
    pub scope: String,
    /// Whether the connections were switched; not: held back or observed.
    pub switched: bool,
    /// Bytes that a burst has less than; none: any more.
    pub below_bytes: Option<u32>,
    /// How many there were.
    pub count: u64,
    /// What they took in the mean, seconds.
    pub mean_s: f64,
    /// What at most half of them took longer than, seconds, within a factor of 1.41.
    pub p50_s: f64,
    /// What at most a twentieth took longer than, likewise.
    pub p95_s: f64,
}

/// GET /connections?match=WORDS&sort=KEY&limit=NUMBER&also=NAMESPACE/LOCAL/REMOTE, each where it is
/// wanted
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// CLOCK_MONOTONIC in nanoseconds, just before they were looked at.
    pub now_ns: u64,
    /// How many match the words; all of them, where there are none.
    pub matching: usize,
    /// As many of them as were asked for; in the order of namespace and ends, if none was named.
    pub connections: Vec<Connection>,
    /// The one that was asked for besides, if there is such a one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Connection>,
}

/// GET /switches?after=NUMBER
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switches {
    /// CLOCK_MONOTONIC in nanoseconds.
    pub now_ns: u64,
    /// The oldest first; those with a number above the one asked for that are still remembered.
    pub switches: Vec<Numbered>,
}

/// A switch and its number, from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbered {
    /// Counts up with each switch.
    pub number: u64,
    /// The switch.
    #[serde(flatten)]
    pub switch: Switch,
}

/// The kernel's monotonic clock, nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every kernel has it");
    Duration::from(now).as_nanos() as u64
}
