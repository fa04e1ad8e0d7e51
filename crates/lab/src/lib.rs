//! The laboratory: scenarios, runs, records, statistics, reports.

pub mod bench;
pub mod bound;
pub mod characterize;
mod contest;
mod controls;
pub mod emulate;
mod error;
pub mod explain;
pub mod fit;
mod interruption;
pub mod lockstep;
pub mod outcome;
pub mod play;
pub mod player;
mod records;
pub mod report;
pub mod reproduce;
pub mod scenario;
pub mod search;
pub mod sim;
pub mod statistics;
pub mod summary;
pub mod validate;
pub mod watched;
pub mod workload;

pub use controls::{Controls, refuse_second_choice};
pub use error::Error;
