//! Paths from what was measured of them.

pub mod throughput;
