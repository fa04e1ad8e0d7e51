//! What came of a comparison.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use kirikae_results::report;
use kirikae_results::summary::Summary;
use kirikae_scenario::Scenario;
use kirikae_simlab::sim::{self, Options};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::failed;
use crate::simulate::options;
use crate::table::Table;
use crate::tables;

/// What came of a comparison: tables, summary and records.
///
/// `print` shows the tables that `kirikae-lab sim` prints.
#[pyclass(frozen, module = "kirikae")]
pub struct Outcome {
    scenarios: Arc<Vec<Scenario>>,
    outcome: kirikae_results::outcome::Outcome,
    bursts: OnceLock<RecordBatch>,
    flows: OnceLock<RecordBatch>,
    switches: OnceLock<RecordBatch>,
}

impl Outcome {
    /// Of these scenarios.
    pub fn new(
        scenarios: Arc<Vec<Scenario>>,
        outcome: kirikae_results::outcome::Outcome,
    ) -> Outcome {
        let [bursts, flows, switches] = Default::default();
        Outcome { scenarios, outcome, bursts, flows, switches }
    }

    fn table(
        &self,
        py: Python,
        made: &OnceLock<RecordBatch>,
        make: fn(&kirikae_results::outcome::Outcome) -> RecordBatch,
    ) -> Table {
        Table(py.detach(|| made.get_or_init(|| make(&self.outcome)).clone()))
    }
}

#[pymethods]
impl Outcome {
    /// Every burst of the scenarios that are compared write by write, warm-up included.
    #[getter]
    fn bursts(&self, py: Python) -> Table {
        self.table(py, &self.bursts, tables::bursts)
    }

    /// Every flow.
    #[getter]
    fn flows(&self, py: Python) -> Table {
        self.table(py, &self.flows, tables::flows)
    }

    /// Every switch of a flow's congestion control.
    #[getter]
    fn switches(&self, py: Python) -> Table {
        self.table(py, &self.switches, tables::switches)
    }

    /// The summary as JSON, byte for byte what `kirikae-lab sim --json` prints without `--output`.
    fn to_json(&self, py: Python) -> String {
        py.detach(|| {
            let summary = Summary::of(&self.outcome);
            serde_json::to_string_pretty(&summary).expect("a summary is JSON") + "\n"
        })
    }

    /// The same as a dict.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let loads = py.import("json")?.getattr("loads")?;
        Ok(loads.call1((self.to_json(py),))?.cast_into()?)
    }

    /// Makes a directory in `directory`, writes the records into it that `kirikae-lab sim --output`
    /// writes, and returns its path. Everything is simulated once more for that, since an outcome does not
    /// keep the packets that were dropped.
    fn write(&self, directory: PathBuf, py: Python) -> PyResult<PathBuf> {
        let options = Options { output: Some(directory), ..options() };
        let outcome = py.detach(|| sim::run(&self.scenarios, &options));
        let outcome = outcome.map_err(|error| failed(py, &error))?;
        Ok(outcome.records.expect("they were asked for"))
    }

    fn __str__(&self, py: Python) -> String {
        py.detach(|| report::render(&self.outcome, false))
    }

    fn __repr__(&self) -> String {
        let comparisons = &self.outcome.comparisons;
        let simulations: usize = comparisons.iter().map(|it| it.plays.len()).sum();
        format!("<kirikae.Outcome of {} scenarios, {simulations} simulations>", comparisons.len())
    }

    fn _repr_html_(&self, py: Python) -> String {
        let text = self.__str__(py).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("<pre>{text}</pre>")
    }
}
