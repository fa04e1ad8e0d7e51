//! Loads the BPF programs, attaches them, reports what they do, and restores everything.

mod affected_paths;
mod agent;
mod algorithms;
mod attached;
mod burst_latencies;
mod cgroup_names;
mod cost;
mod default_algorithm;
mod error;
mod event;
mod exclusive;
mod hearing;
mod host;
mod iterator;
mod kernel;
mod kernel_algorithms;
mod layout;
mod libbpf;
mod listing;
mod namespaces;
mod network_changes;
mod object;
mod path_counts;
mod path_memory;
mod paths;
mod program;
mod recording;
mod refusals;
mod registered;
mod registration;
mod restore;
mod revival;
mod spans;
mod state;
mod supervised;
mod support;
mod switcher;
mod troubles;
mod walks;

pub use affected_paths::AffectedPaths;
pub use agent::{Agent, Config, Pinning, undo};
pub use algorithms::{Algorithms, candidates};
pub use burst_latencies::{BURST_SIZES, BurstLatencies, bucket_end_s};
pub use cgroup_names::CgroupNames;
pub use cost::Cost;
pub use default_algorithm::given_by_default;
pub use error::Error;
pub use event::decode;
pub use hearing::Taken;
pub use host::{
    algorithm_requirements, can_destroy, cgroup_root, confinement, kernel_release, requirements,
};
pub use kernel_algorithms::KernelAlgorithms;
pub use listing::{Connection, LatestSwitch, Stream, Treatment};
pub use namespaces::{Namespaces, is_namespace, own_namespace};
pub use network_changes::{Change, Network};
pub use path_counts::PathCounts;
pub use path_memory::{DEFAULT_PATHS, PATHS};
pub use paths::{KnownOutcome, KnownPath, PathFilter, network_of};
pub use program::Program;
pub use recording::Recorded;
pub use refusals::Refusals;
pub use registered::{register, registered, unregister};
pub use restore::Restored;
pub use revival::{NetworkNews, NetworkThread, Stranded};
pub use spans::{OTHERS, Share, SpanGroup};
pub use state::DIRECTORY;
pub use support::{Feature, State as FeatureState, Support, support};
pub use walks::be_worker;

/// The version, and which compilers made it.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncompiled by ",
    env!("KIRIKAE_COMPILER"),
    "\nBPF programs compiled by ",
    env!("KIRIKAE_BPF_COMPILER"),
);
