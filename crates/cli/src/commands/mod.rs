//! The commands, one file each.

pub mod algorithms;
pub mod check;
pub mod doctor;
pub mod explain;
pub mod log;
mod notify;
pub mod paths;
pub mod reload;
pub mod resume;
pub mod run;
pub mod status;
pub mod support;
pub mod top;
pub mod undo;
