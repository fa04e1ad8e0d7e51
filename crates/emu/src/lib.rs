//! Paths in real time: packets of the real kernel meet the elements of [`kirikae_path`].
//!
//! An [`Emulated`] path is two network namespaces, a TUN device in each, and a thread that moves
//! packets between the two through the path's elements. Everything it makes on the host carries the
//! name of this process ([`own_name`]) and goes with it; what a killed process left behind,
//! [`remove_stale`] recognises and removes.

mod capacity;
mod clock;
mod ecn;
mod emulator;
mod error;
mod mover;
mod namespace;
mod ownership;
mod report;
mod segment;
mod system;
mod tun;
mod way;

pub use emulator::Emulated;
pub use error::Error;
pub use namespace::{Namespace, remove_stale};
pub use ownership::{Owner, own_name, owner_of};
pub use report::{DirectionReport, DroppedPacket, Report, TimingError};
pub use segment::Segment;
