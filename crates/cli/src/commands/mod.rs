//! One file a command.

pub mod algorithms;
pub mod bench;
pub mod burst_sender;
pub mod characterize;
mod comparison;
pub mod doctor;
pub mod explain;
pub mod fit;
pub mod reproduce;
pub mod run;
pub mod search;
mod setting;
pub mod sim;
mod table;
pub mod undo;
mod units;
pub mod validate;
