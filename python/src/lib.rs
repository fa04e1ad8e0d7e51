//! The laboratory in virtual time as the Python module `kirikae._kirikae`.

mod errors;
mod outcome;
mod scenario;
mod simulate;
mod table;
mod tables;

/// Congestion controls compared in virtual time.
#[pyo3::pymodule]
mod _kirikae {
    #[pymodule_export]
    use crate::errors::{Error, ScenarioError};
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::simulate::simulate;
    #[pymodule_export]
    use crate::table::Table;
}
