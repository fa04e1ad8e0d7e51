//! The guard: whether switching helps a scope of the operator's policy, does nothing, or hurts
//! (docs/guard.md).
//!
//! The bursts of a connection are cut into spans, and for each span a lot is drawn: it is switched or *held
//! back*, which means left to the host's own congestion control. The time of a span is compared with the
//! connection's own past (`bpf/switcher/core/comparison.h`). These are summed up for each treatment
//! ([`Strata`]) and compared by a confidence sequence ([`confidence`]), which may be looked at all the time.
//! [`Guard`] draws the conclusions for the connections of a cgroup, [`Groups`] for a scope with several.
//!
//! Latencies are logarithms to base 2, in *octaves*, so that differences of means are ratios of geometric
//! means.

pub mod confidence;
mod groups;
mod guard;
mod spans;

pub use confidence::ERROR;
pub use groups::Groups;
pub use guard::{Ask, Estimate, Guard, HARM, HELD_WHILE_SUSPECTED, LEAST_SPANS, Reason, Verdict};
pub use spans::{Arms, Difference, STRATA, Spans, Strata};
