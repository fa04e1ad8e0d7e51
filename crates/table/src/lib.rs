//! Latency tables: which latency each algorithm had, measured beforehand, under which conditions.
//!
//! [`LatencyTable`] is a table as a file and [`KernelTable`] the form in which the switcher reads it
//! (`bpf/switcher/latency_table.h`). [`rtcp`] has the thesis' tables.

mod friendliness;
mod grid;
mod kernel_table;
mod latency_table;
mod policy;
mod printed;
pub mod rtcp;
mod shipped;

pub use friendliness::{Figure, Measure, measured, to_text as friendliness_text};
pub use grid::{BURST_LOSS_PACKETS, Condition, Expectation, Grid, Place};
pub use kernel_table::{
    ALGORITHMS, BURSTS, CONDITIONS, KernelExpectation, KernelTable, NAME_BYTES, RATES, RTTS,
};
pub use latency_table::{LatencyTable, TableError};
pub use policy::{NoCandidate, Policy};
pub use printed::{Kind, Printed, printed};
pub use shipped::{candidates, shipped, usual};
