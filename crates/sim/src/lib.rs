#![doc = include_str!("../README.md")]

mod application;
mod connection;
mod conversation;
mod engine;
mod hosts;
mod observer;
mod opening;
mod outcome;
mod parcels;
mod queue;
mod roaming;
mod runs;
mod simulation;
mod snoop;
mod split;
mod stream;
mod topology;
mod video;
mod workload;

pub use application::WITHOUT_END;
pub use conversation::{Arrived, Conversation};
pub use kirikae_path::Hop;
pub use observer::{LinkState, Observer, Passage, Step};
pub use opening::{Followers, Opening};
pub use outcome::{Counters, DirectionOutcome, DroppedPacket, FlowOutcome, Left, Outcome, Traffic};
pub use runs::{observe_all, run_all};
pub use simulation::{End, Flow, Host, Mobile, Routes, Simulation, SimulationError, Split};
pub use stream::Written;
pub use topology::{dumbbell, parking_lot, staggered};
pub use video::Video;
pub use workload::{Activity, Interval, MOST_WRITES, Workload, Write};
