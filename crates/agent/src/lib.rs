//! Loads the BPF programs, attaches them, reports what they do, and puts everything back.

mod agent;
mod algorithms;
mod burst_latencies;
mod cost;
mod error;
mod event;
mod host;
mod iterator;
mod kernel;
mod kernel_algorithms;
mod libbpf;
mod listing;
mod namespaces;
mod object;
mod recording;
mod registered;
mod registration;
mod restore;
mod state;
mod support;
mod switcher;

pub use agent::{Agent, Config, Pinning, undo};
pub use algorithms::{Algorithms, candidates};
pub use burst_latencies::{BURST_SIZES, BurstLatencies, bucket_end_s};
pub use cost::Cost;
pub use error::Error;
pub use event::{Reason, Switch, decode, rate_bit_s, stream_share};
pub use host::{algorithm_requirements, cgroup_root, kernel_release, requirements};
pub use kernel_algorithms::KernelAlgorithms;
pub use listing::{Connection, LatestSwitch, Stream, Treatment};
pub use namespaces::Namespaces;
pub use recording::Recorded;
pub use registered::{register, registered, unregister};
pub use restore::Restored;
pub use state::DIRECTORY;
pub use support::{Feature, State as FeatureState, Support, support};
