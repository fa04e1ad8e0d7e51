//! Latency tables: which latency each algorithm had, measured beforehand, under which conditions.
//!
//! [`LatencyTable`] is a table as a file and [`KernelTable`] the form in which the switcher reads it
//! (`bpf/interface/latency_table.h`). [`thesis`] has the thesis' tables. [`Friendliness`] says which of a table's
//! algorithms may be chosen, by [`friendliness`].

pub mod friendliness;
mod grid;
mod kernel_table;
mod latency_table;
mod printed;
mod shipped;
pub mod thesis;

pub use friendliness::{Friendliness, NoCandidate};
pub use grid::{BURST_LOSS_PACKETS, Condition, Expectation, Grid, Load, Place};
pub use kernel_table::{ALGORITHMS, CONDITIONS, KernelTable, LOADS, RATES, RTTS};
pub use latency_table::{LatencyTable, TableError, row_text};
pub use printed::{Kind, Printed, printed};
pub use shipped::{candidates, shipped, usual};
