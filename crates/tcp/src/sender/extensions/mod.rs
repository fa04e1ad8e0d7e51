//! What publications add to the RFCs' behaviour, and no kernel does: it is done only where the profile of
//! a stack asks for it.

mod expiry;
mod handover;

pub(super) use handover::PathEstimate;
