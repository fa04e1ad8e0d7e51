//! Latency tables: which latency each algorithm had, measured beforehand, at a given round trip
//! and loss rate or free bandwidth.
//!
//! [`KernelTable`] is the form in which the switcher reads them (`bpf/switcher/latency_table.h`);
//! [`shipped`] builds it from the files in `tables/`.

mod kernel_table;
mod published;

pub use kernel_table::{ALGORITHMS, KernelTable, NAME_BYTES, POINTS, RTTS};
pub use published::{Error, candidates, shipped};
