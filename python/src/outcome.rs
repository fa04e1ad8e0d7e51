//! What came of a comparison.

use std::path::PathBuf;
use std::sync::Arc;

use kirikae_results::records::{Clock, Records};
use kirikae_results::report;
use kirikae_results::summary::Summary;
use kirikae_scenario::{Controls, Scenario};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::failed;
use crate::html::preformatted;
use crate::json::dict;
use crate::table::Table;
use crate::tables::{BURSTS, FLOWS, SWITCHES};

/// What came of a comparison: tables, summary and records.
///
/// `print` shows the tables that `kirikae-lab sim` prints.
#[pyclass(frozen, module = "kirikae")]
pub struct Outcome(pub Arc<kirikae_results::outcome::Outcome>);

#[pymethods]
impl Outcome {
    /// Every burst of the scenarios that are compared write by write, warm-up included.
    #[getter]
    fn bursts(&self) -> Table {
        Table::of_outcome(&self.0, &BURSTS)
    }

    /// Every flow.
    #[getter]
    fn flows(&self) -> Table {
        Table::of_outcome(&self.0, &FLOWS)
    }

    /// Every switch of a flow's congestion control.
    #[getter]
    fn switches(&self) -> Table {
        Table::of_outcome(&self.0, &SWITCHES)
    }

    /// The summary as JSON, byte for byte what `kirikae-lab sim --json` prints without `--output`.
    fn to_json(&self, py: Python) -> String {
        py.detach(|| {
            let summary = Summary::of(&self.0);
            serde_json::to_string_pretty(&summary).expect("a summary is JSON") + "\n"
        })
    }

    /// The same as a dict.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(&self.to_json(py), py)
    }

    /// Makes a directory in `directory`, writes the records into it that `kirikae-lab sim --output`
    /// writes, and returns its path.
    fn write(&self, directory: PathBuf, py: Python) -> PyResult<PathBuf> {
        let written = py.detach(|| {
            let comparisons = self.0.comparisons.iter();
            let scenarios: Vec<Scenario> = comparisons.map(|it| it.scenario.clone()).collect();
            let records = Records::create(&directory, &scenarios, Clock::Virtual)?;
            records.write(&self.0, &Controls::default().algorithms)?;
            Ok(records.directory().to_owned())
        });
        written.map_err(|error| failed(py, &error))
    }

    /// Draws what one wants to see first with matplotlib, and returns the Axes: into `ax`, or a new figure.
    ///
    /// Of one scenario, the distribution of the latencies of its bursts for each contender, or if it is not
    /// compared write by write the goodput of its flows. Of several scenarios the means of each, or with
    /// `scenario`, its title, one of them alone. Raises Error where matplotlib is not installed.
    #[pyo3(signature = (*, scenario = None, ax = None))]
    fn plot<'py>(
        slf: Bound<'py, Self>,
        scenario: Option<&str>,
        ax: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let plot = slf.py().import("kirikae.plot")?.getattr("plot")?;
        plot.call1((slf, scenario, ax))
    }

    fn __str__(&self, py: Python) -> String {
        py.detach(|| report::render(&self.0, false))
    }

    fn __repr__(&self) -> String {
        let comparisons = &self.0.comparisons;
        let simulations: usize = comparisons.iter().map(|it| it.plays.len()).sum();
        format!("<kirikae.Outcome of {} scenarios, {simulations} simulations>", comparisons.len())
    }

    fn _repr_html_(&self, py: Python) -> String {
        preformatted(&self.__str__(py))
    }
}
