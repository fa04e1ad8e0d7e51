//! One file a command.

pub mod algorithms;
pub mod bench;
pub mod burst_sender;
pub mod run;
mod setting;
pub mod undo;
