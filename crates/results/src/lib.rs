//! The results of comparisons, in virtual time or in real: records, statistics, bounds, summaries and
//! reports.

pub mod bound;
pub mod contest;
mod error;
pub mod interruption;
pub mod outcome;
pub mod play;
pub mod records;
pub mod recovery;
pub mod report;
pub mod statistics;
pub mod summary;
pub mod watched;

pub use error::{Error, While};
