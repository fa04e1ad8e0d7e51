//! Where a generated file comes from: one number for each group of the sources and data that determine
//! what is in it, so that what has changed since has a name.
//!
//! The numbers are of contents without comments, layout and tests, and need neither git nor, in a
//! program that is built, the sources: [`Inputs::built`] has those that it was built of.

mod groups;
mod inputs;
mod normalise;
mod sources;
mod table;

pub use groups::{GROUPS, Group};
pub use inputs::Inputs;
pub use normalise::lines;
pub use sources::{digest, digest_of};
pub use table::{inputs_of_table, table_inputs, table_is_stale, table_line};

/// Names and digests of the groups, as this was built.
const BUILT: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/built.rs"));
