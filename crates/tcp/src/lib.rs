#![doc = include_str!("../README.md")]
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
