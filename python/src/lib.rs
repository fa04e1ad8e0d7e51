//! The laboratory in virtual time as a Python package. What is computed is what `kirikae-lab` computes, by
//! the same functions; nothing here knows of congestion control.

mod error;
mod outcome;
mod scenario;
mod simulate;
mod table;
mod toml;

use pyo3::prelude::*;

/// Congestion controls compared in virtual time.
#[pymodule]
mod _kirikae {
    #[pymodule_export]
    use crate::error::{Error, ScenarioError};
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::simulate::simulate;
    #[pymodule_export]
    use crate::table::Table;
}
