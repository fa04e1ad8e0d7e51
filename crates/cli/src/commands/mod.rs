//! One file a command.

pub mod bench;
pub mod burst_sender;
pub mod run;
pub mod undo;
