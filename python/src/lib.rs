//! The laboratory in virtual time as the Python module `kirikae._kirikae`.

mod batch;
mod characterize;
mod columns;
mod errors;
mod explain;
mod findings;
mod fit;
mod grid;
mod html;
mod json;
mod latency_table;
mod list;
mod out_of_tree;
mod outcome;
mod packed;
mod plan;
mod reproduce;
mod rows;
mod scenario;
mod search;
mod simulate;
mod table;
mod tables;
mod trace;

/// Congestion controls compared in virtual time.
#[pyo3::pymodule]
mod _kirikae {
    #[pymodule_export]
    use crate::batch::{Results, simulate_batch};
    #[pymodule_export]
    use crate::characterize::{Characterization, measure_shard};
    #[pymodule_export]
    use crate::errors::{Error, ScenarioError};
    #[pymodule_export]
    use crate::explain::{Explanation, explain};
    #[pymodule_export]
    use crate::fit::{Fit, fit};
    #[pymodule_export]
    use crate::grid::Grid;
    #[pymodule_export]
    use crate::latency_table::LatencyTable;
    #[pymodule_export]
    use crate::out_of_tree::{check_algorithm, compile_algorithm, load_algorithm};
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::reproduce::{Reproduction, Studies, compare_study};
    #[pymodule_export]
    use crate::scenario::{Scenario, restored};
    #[pymodule_export]
    use crate::search::{Search, SearchOptions};
    #[pymodule_export]
    use crate::table::Table;
}
