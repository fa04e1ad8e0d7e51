//! One file a command.

pub mod bench;
pub mod characterize;
mod comparison;
pub mod emulate;
pub mod fit;
pub mod lockstep;
pub mod merge;
pub mod player;
pub mod replay;
pub mod reproduce;
pub mod search;
pub mod sim;
pub mod validate;
