//! The operator's policy says which connections are switched, and how. This crate has it as people write it
//! (a scope of a policy file, or of a scenario), and as the switcher reads it.

mod policy;
mod reach;
mod scope_section;
mod warm_start;

pub use policy::{
    Hysteresis, LEAST_RTT, Matching, Objective, Period, Policy, RULES, SCOPES, Scope, Timeouts,
    TooManyRules, WhenAddressGone, has_another_cgroup,
};
pub use reach::Unreached;
pub use scope_section::{Latencies, WHEN_ADDRESS_GONE, read_scope, read_scope_of_all};
pub use warm_start::{PATH_LIFETIME, WarmStart};
