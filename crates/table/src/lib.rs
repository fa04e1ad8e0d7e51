//! Latency tables: which latency each algorithm had, measured beforehand, at a given round trip
//! and loss rate or free bandwidth.
//!
//! [`KernelTable`] is the form in which the switcher reads them (`bpf/switcher/latency_table.h`);
//! [`shipped`] builds it from the files in `tables/`; [`printed`] is what stands in them.

mod kernel_table;
mod printed;
mod published;

pub use kernel_table::{ALGORITHMS, KernelTable, NAME_BYTES, POINTS, RTTS};
pub use printed::{Kind, Printed, printed};
pub use published::{Error, candidates, shipped};
