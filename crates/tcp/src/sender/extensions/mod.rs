//! Behaviour that publications add to the RFCs, and that no kernel has. A stack profile turns it on.

mod expiry;
mod handover;

pub(super) use handover::PathEstimate;
