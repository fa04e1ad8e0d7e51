//! The ledger of figures (docs/figures.md): what is wanted of each, what it is, and what it was when it was last
//! kept.

pub mod bound;
pub mod commit;
pub mod kept;
pub mod list;
pub mod measured;
pub mod play;
pub mod report;
pub mod verdict;
