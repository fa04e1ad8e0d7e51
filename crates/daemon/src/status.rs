//! The agent's status, as JSON.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use kirikae_agent::{Connection, Cost, KnownPath, PathCounts, Refusals};
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
    pub policy: PolicyStatus,
    /// What is to be said of this policy on this host, in words.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// How many connections are remembered.
    pub connections: usize,
    /// The number of connections by the algorithm in use.
    pub by_algorithm: BTreeMap<String, usize>,
    /// The number of connections by treatment.
    pub by_treatment: BTreeMap<String, usize>,
    /// Switches reported, by reason.
    pub switches: BTreeMap<String, u64>,
    /// How many choices were reported for connections that are only observed.
    pub observed: u64,
    /// Switches that were not reported, because they came too fast.
    pub events_lost: u64,
    /// Lines that the agent could not print: nobody read them fast enough, or they could not be written.
    #[serde(default)]
    pub lines_lost: u64,
    /// How often callbacks of a connection were asked for again, because another sock_ops program had taken them.
    pub asked_again: u64,
    /// Connections for which the kernel refused that at the latest look, so that the switcher hears nothing
    /// of them.
    pub unheard: usize,
    /// Connections that the kernel has refused to switch.
    #[serde(default)]
    pub refused: Refusals,
    /// How often a connection was made to send because its path may have been back.
    #[serde(default)]
    pub revived: u64,
    /// Connections whose local address was gone, so that they could never send again.
    #[serde(default)]
    pub stranded: u64,
    /// How many of these were destroyed.
    #[serde(default)]
    pub destroyed: u64,
    /// The thread that watches the networks of connections.
    #[serde(default)]
    pub network: NetworkStatus,
    /// What is known of paths, and how it was used.
    pub paths: PathMemoryStatus,
    /// The page, where the policy wants one.
    #[serde(default)]
    pub page: Option<PageStatus>,
    /// How long bursts took.
    pub bursts: Vec<Bursts>,
    /// The processor time of the switcher; zero while the kernel does not count it.
    pub cost: Cost,
}

/// Where page and metrics are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageStatus {
    /// The address that the policy names.
    pub address: SocketAddr,
    /// Whether it is served. If not, somebody else has the port, and it is tried again each minute.
    pub is_served: bool,
}

/// The origin of the policy, and its scopes in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyStatus {
    /// The file; None if options on the command line took its place.
    pub file: Option<String>,
    /// Counts up with each reload, from 1.
    pub generation: u32,
    /// Its scopes, in order.
    pub scopes: Vec<ScopeStatus>,
}

/// A scope in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScopeStatus {
    /// What it is called.
    pub name: String,
    /// The connections that belong to it, in words.
    pub matches: String,
    /// Algorithms that may be chosen.
    pub algorithms: Vec<String>,
    /// Other settings that differ from the usual, in words.
    pub settings: Vec<String>,
    /// What its guard has found out; None if it has no guard, or if the operator only observes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guarding>,
}

/// What the guard of a scope has found out (docs/guard.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guarding {
    /// The verdict: cannot-judge, helps, no-difference, not-known-yet or hurts.
    pub verdict: String,
    /// The same in words, with the numbers that it is based on.
    pub says: String,
    /// The lower end, the estimate and the upper end of a ratio: the time that switched bursts take over the
    /// time that stock ones take. None if nothing can be said.
    pub ratio: Option<[f64; 3]>,
    /// Number of bursts that it is based on.
    pub bursts: u64,
    /// Whether the scope is only observed because switching hurts, or the only cgroup of it that was judged.
    pub suspended: bool,
    /// Since when the scope as a whole is, seconds of the wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_since: Option<u64>,
    /// What was found out of each cgroup in it.
    #[serde(default)]
    pub cgroups: Vec<GroupGuarding>,
}

/// What was found out of the connections of a scope that are in one cgroup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupGuarding {
    /// The cgroup, in words.
    pub cgroup: String,
    /// As of a scope.
    pub verdict: String,
    /// As of a scope.
    pub says: String,
    /// As of a scope.
    pub ratio: Option<[f64; 3]>,
    /// Number of bursts that it is based on.
    pub bursts: u64,
    /// Since when its connections are only observed because switching hurts, seconds of the wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_since: Option<u64>,
}

/// How long bursts of one scope and size took, since the agent was started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bursts {
    /// Name of the scope.
    pub scope: String,
    /// Whether the connections were switched. If not, they were held back or observed.
    pub switched: bool,
    /// The upper end of the size in bytes, exclusive; None for the largest size.
    pub below_bytes: Option<u32>,
    /// How many there were.
    pub count: u64,
    /// Mean time, seconds.
    pub mean_s: f64,
    /// The median, seconds, within a factor of 1.41.
    pub p50_s: f64,
    /// The 95th percentile, seconds, within a factor of 1.41.
    pub p95_s: f64,
}

/// GET /connections?match=WORDS&sort=KEY&limit=NUMBER&also=NAMESPACE/LOCAL/REMOTE; each part may be left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// CLOCK_MONOTONIC in nanoseconds, just before they were looked at.
    pub now_ns: u64,
    /// How many match the words. Without words all connections do.
    pub matching: usize,
    /// As many of them as were asked for; ordered by namespace and ends if no order was asked for.
    pub connections: Vec<Connection>,
    /// The connection that was asked for besides, if it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Connection>,
}

/// GET /switches?after=NUMBER
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switches {
    /// CLOCK_MONOTONIC in nanoseconds.
    pub now_ns: u64,
    /// The switches with a number above the one asked for, as far as they are remembered, the oldest first.
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

/// The thread that watches the networks of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkStatus {
    /// Whether it runs. If it does not, it is started again.
    pub is_alive: bool,
    /// How often it has ended.
    pub ended: u64,
    /// How many messages it dropped that programs sent as if they were the kernel.
    pub dropped: u64,
}

/// The path memory in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathMemoryStatus {
    /// Of how many paths something is known.
    pub known: usize,
    /// Of how many there is room for what is known.
    pub room: u32,
    /// How it was used.
    #[serde(flatten)]
    pub counts: PathCounts,
}

/// GET /paths?to=PREFIX; without a prefix all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paths {
    /// The path memory in short.
    #[serde(flatten)]
    pub memory: PathMemoryStatus,
    /// Those that were asked for, in no order.
    pub paths: Vec<ListedPath>,
}

/// A path, with the name of its interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedPath {
    /// What is known of it.
    #[serde(flatten)]
    pub path: KnownPath,
    /// The interface; None: it is in another network namespace than the agent's, or not there any more.
    pub interface_name: Option<String>,
}

/// POST /paths/forget?to=PREFIX
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenPaths {
    /// Of how many paths something was known.
    pub forgotten: usize,
}

/// The kernel's monotonic clock, nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every kernel has it");
    Duration::from(now).as_nanos() as u64
}
