//! TCP connections over described paths in virtual time.
//!
//! A [`Simulation`] is plain data: links, flows over them, what their applications do, and a
//! duration. [`Simulation::run`] plays it and says what came of it, an [`Outcome`]; [`run_all`]
//! plays many on all cores. [`Simulation::observe`] and [`observe_all`] do so before an [`Observer`].
//! The same simulation gives the same outcome, byte for byte, wherever and beside whatever it runs.

mod application;
mod connection;
mod conversation;
mod engine;
mod observer;
mod outcome;
mod parcels;
mod queue;
mod roaming;
mod runs;
mod simulation;
mod stream;
mod topology;
mod video;
mod workload;

pub use application::WITHOUT_END;
pub use conversation::{Arrived, Conversation};
pub use kirikae_path::Hop;
pub use observer::{LinkState, Observer, Passage, Step};
pub use outcome::{Counters, DirectionOutcome, DroppedPacket, FlowOutcome, Left, Outcome, Traffic};
pub use runs::{observe_all, run_all};
pub use simulation::{End, Flow, Host, Mobile, Routes, Simulation, SimulationError};
pub use stream::Written;
pub use topology::{dumbbell, parking_lot, staggered};
pub use video::Video;
pub use workload::{Activity, Interval, MOST_WRITES, Workload, Write};
