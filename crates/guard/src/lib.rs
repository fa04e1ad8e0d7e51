//! The guard: whether switching helps a scope of the operator's policy, does nothing, or hurts
//! (docs/guard.md).
//!
//! The bursts of a connection are cut into spans, and for each span a lot is drawn: it is switched or *held
//! back*, left to the host's own congestion control. What a span took is told against the connection's
//! own past (`bpf/switcher/core/comparison.h`), summed up for each treatment ([`Strata`]) and compared by a confidence
//! sequence ([`confidence`]), which may be looked at all the time. [`Guard`] is what follows from it.
//!
//! Latencies are logarithms to base 2, *octaves*: so differences of means are ratios of geometric means.

pub mod confidence;
mod guard;
mod spans;

pub use guard::{Ask, Estimate, Guard, HARM, HELD_WHILE_SUSPECTED, LEAST_SPANS, Reason, Verdict};
pub use spans::{Arms, Difference, STRATA, Spans, Strata};
