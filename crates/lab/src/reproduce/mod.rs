//! Published results rebuilt: each study is a directory with scenarios and a page that says what is
//! claimed and assumed, and a module here that holds what comes out against what was printed.

mod findings;
mod rtcp_tables;

use std::path::Path;

use crate::error::Error;
use crate::scenario::Scenario;
pub use findings::{Bound, Cell, Criterion, Findings, Row, Table};

/// A published result that can be rebuilt.
pub struct Study {
    /// Its name, and its directory's.
    pub name: &'static str,
    /// What it rebuilds, in a line.
    pub about: &'static str,
    files: &'static [&'static str],
    compare: fn(&[Scenario]) -> Result<Findings, Error>,
}

/// Every study there is.
pub const STUDIES: [Study; 1] = [rtcp_tables::STUDY];

impl Study {
    /// The study of this name.
    pub fn named(name: &str) -> Option<Study> {
        STUDIES.into_iter().find(|study| study.name == name)
    }

    /// Its scenarios, from a directory that holds the studies' directories.
    ///
    /// # Errors
    /// A file that is not there or is refused.
    pub fn scenarios(&self, from: &Path) -> Result<Vec<Scenario>, Error> {
        let files = self.files.iter().map(|file| from.join(self.name).join(file));
        Ok(Scenario::load_all(files)?)
    }

    /// Simulates its scenarios, all or some of them, and holds them against what was published.
    ///
    /// # Errors
    /// A scenario for which nothing was published.
    pub fn compare(&self, scenarios: &[Scenario]) -> Result<Findings, Error> {
        (self.compare)(scenarios)
    }
}
