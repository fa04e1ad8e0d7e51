//! One file a command.

pub mod algorithms;
pub mod bench;
pub mod burst_sender;
mod comparison;
pub mod reproduce;
pub mod run;
mod setting;
pub mod sim;
pub mod undo;
pub mod validate;
