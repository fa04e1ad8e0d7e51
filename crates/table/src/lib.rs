//! Latency tables: the latency that each algorithm had under each condition, measured beforehand.
//!
//! [`LatencyTable`] is a table as a file and [`KernelTable`] the form in which the switcher reads it
//! (`bpf/interface/latency_table.h`). [`thesis`] has the thesis' tables. [`Friendliness`] decides which of a
//! table's algorithms may be chosen.
//!
//! This example looks up what was measured for 64 KiB over 10 Mbit/s with an RTT of 200 ms and 1 % of
//! isolated loss.
//!
//! ```
//! use kirikae_table::{Condition, Load};
//!
//! let table = kirikae_table::shipped();
//! let condition = Condition { loss: 0.01, burst_loss: 0.0, queue: 100 };
//! let (_, row) = (table.grid.places().zip(table.rows()))
//!     .find(|(place, _)| {
//!         (place.rtt_us, place.rate) == (200_000, 10_000_000)
//!             && place.load == Load::Burst(64 << 10)
//!             && place.condition == condition
//!     })
//!     .expect("a place of the grid");
//!
//! let latency = |name: &str| {
//!     let column = table.algorithms.iter().position(|it| it == name).expect("a candidate");
//!     row[column].latency_s
//! };
//! // The kernel's own cubic takes more than twice as long as Hybla with idle keep.
//! assert!(latency("cubic") > 2.0 * latency("kk_hybla"));
//! ```

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
