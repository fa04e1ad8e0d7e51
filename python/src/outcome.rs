//! What came of a comparison.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use kirikae_results::records::{Clock, Records};
use kirikae_results::report;
use kirikae_results::statistics::Estimate;
use kirikae_results::summary::{ScenarioSummary, Summary};
use kirikae_scenario::{Controls, Scenario};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
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

/// A row for each contender of each scenario.
fn contenders(summary: &Summary) -> RecordBatch {
    let rows =
        summary.scenarios.iter().flat_map(|ScenarioSummary { title, contenders, .. }| {
            contenders.iter().map(move |contender| (title, contender))
        });
    let value = |of: Option<Estimate>| of.map(|it| it.value);
    let half_width = |of: Option<Estimate>| of.and_then(|it| it.half_width);
    Columns::of(rows)
        .text("scenario", |(title, _)| title)
        .text("contender", |(_, it)| it.contender.name())
        .whole("n", |(_, it)| it.n as u64)
        .whole("unfinished", |(_, it)| it.unfinished.into())
        .number_if_any("mean_s", |(_, it)| value(it.mean_s))
        .number_if_any("mean_half_width_s", |(_, it)| half_width(it.mean_s))
        .number_if_any("p50_s", |(_, it)| it.p50_s)
        .number_if_any("p95_s", |(_, it)| it.p95_s)
        .number_if_any("p99_s", |(_, it)| it.p99_s)
        .number_if_any("under_1_s", |(_, it)| it.under_1_s)
        .number_if_any("over_cubic", |(_, it)| value(it.over_cubic))
        .number_if_any("over_cubic_half_width", |(_, it)| half_width(it.over_cubic))
        .number_if_any("over_best_fixed", |(_, it)| value(it.over_best_fixed))
        .number_if_any("over_best_fixed_half_width", |(_, it)| half_width(it.over_best_fixed))
        .number_if_any("over_bound", |(_, it)| value(it.over_bound))
        .number_if_any("over_bound_half_width", |(_, it)| half_width(it.over_bound))
        .whole("channel_drops", |(_, it)| it.channel_drops)
        .whole("queue_drops", |(_, it)| it.queue_drops)
        .whole("switches", |(_, it)| it.switches as u64)
        .table()
}

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

    /// Every contender of the scenarios that are compared write by write: its latency over all seeds, and that over stock
    /// cubic's, over that of the best fixed contender, which is the regret, and over the lower bound. Columns that end
    /// in `half_width` are half of the 95 % interval.
    #[getter]
    fn contenders(&self, py: Python) -> Table {
        py.detach(|| Table::made(contenders(&Summary::of(&self.0))))
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
