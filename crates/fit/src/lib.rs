//! Parameters of a path's elements from what was measured on a real one.

pub mod losses;
pub mod throughput;
