//! TCP without clock or I/O: a sender and a receiver that behave as Linux does.
//!
//! An [`Endpoint`] is one end of a connection. It is told the time with everything that happens to
//! it (the application writes, a segment arrives, a timer that it asked for goes off) and says what
//! it sends. The congestion controls are those of `bpf/algorithms/`, called back in the order in which
//! the kernel does.
#![warn(missing_docs)]

mod endpoint;
mod profile;
mod receiver;
mod segment;
mod sender;
mod timer_wheel;

pub use endpoint::{Control, Endpoint};
pub use profile::{Compression, Growth, Handover, LossDetection, Profile, Reduction};
pub use segment::{Ecn, SackBlocks, Segment, Timestamp};
