//! One file a command.

pub mod algorithms;
pub mod bench;
pub mod characterize;
pub mod check;
mod comparison;
pub mod doctor;
pub mod emulate;
pub mod explain;
pub mod fit;
pub mod lockstep;
pub mod log;
mod notify;
pub mod player;
pub mod reload;
pub mod replay;
pub mod reproduce;
pub mod run;
pub mod search;
mod setting;
pub mod sim;
pub mod status;
pub mod support;
mod table;
pub mod top;
pub mod undo;
mod units;
pub mod validate;
