//! Networks in real time: packets of the real kernel meet the elements of [`kirikae_path`].
//!
//! A [`Network`] has hosts around shared links: for each host a network namespace with a TUN device, and one
//! thread that moves packets from device to device through the elements of the links on their way. An
//! [`Emulated`] path is a network with a single link between two hosts. Everything that is made on the host
//! has the name of this process ([`own_name`]) and is removed with it; what a killed process left behind,
//! [`remove_stale`] recognises and removes.

mod capacity;
mod carrier;
mod clock;
mod ecn;
mod emulator;
mod error;
mod mover;
mod namespace;
mod network;
mod ownership;
mod segment;
mod system;
mod thread;
mod timing;
mod tun;
mod way;

pub use capacity::{capacity, check_capacity};
pub use emulator::Emulated;
pub use error::Error;
pub use namespace::{Namespace, remove_stale};
pub use network::{Network, NetworkSpec, RouteSpec, RunningNetwork};
pub use ownership::{Owner, own_name, owner_of};
pub use system::{Rank, go_before_ordinary_threads};
