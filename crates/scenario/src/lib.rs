//! Scenario files: links, what applications do on flows over them, and what is compared.
//!
//! The simulator and the emulated path understand the same file in the same way. It is read and validated as
//! a whole before anything is created.

mod bursts;
mod contender;
mod controls;
mod network;
mod path;
mod recorded_writes;
mod scenario;
pub mod schedule;
mod scope;
mod split;
pub mod stack;
mod sweep;
mod workload;

pub use kirikae_settings::Refusal;

pub use bursts::{Bursts, Connection, Key, Spacing};
pub use contender::Contender;
pub use controls::{Controls, refuse_second_choice};
pub use network::{FlowGroup, Link};
pub use recorded_writes::RecordedWrites;
pub use scenario::Scenario;
pub use split::Split;
pub use workload::{Activity, Workload};
