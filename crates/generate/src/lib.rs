//! What is generated in this repository: tables, lists, and blocks of documents. Each names what it was
//! made from and the command; here is what makes it, what says that it is stale, and what makes seeded
//! places of it again to compare.

mod drawn;
mod friendliness;
mod guard;
mod markdown;
mod measured;
mod places;
mod policies;
mod quotes;
mod regret;
mod steps;
mod studies;
mod table;
mod target;

use std::path::{Path, PathBuf};

pub use measured::{Measured, measure, measured};
pub use places::{Remade, Remake, seeded};
pub use quotes::{Misquoted, misquoted};
pub use steps::{STEPS, Stale, Step, TABLES};
pub use target::Target;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
