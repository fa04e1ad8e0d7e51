//! Loads the BPF programs, attaches them, reports what they do, and puts everything back.

mod agent;
mod algorithms;
mod error;
mod event;
mod host;
mod kernel_algorithms;
mod libbpf;
mod restore;
mod state;
mod support;
mod switcher;

pub use agent::{Agent, Config, Pinning, undo};
pub use algorithms::{Algorithms, candidates};
pub use error::Error;
pub use event::{Reason, Switch, rate_bit_s};
pub use host::{algorithm_requirements, cgroup_root, kernel_release, requirements};
pub use kernel_algorithms::KernelAlgorithms;
pub use restore::Restored;
pub use support::{Feature, State as FeatureState, Support, support};
pub use switcher::Period;
