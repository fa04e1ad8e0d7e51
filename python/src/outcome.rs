//! What came of a simulation.

use std::path::PathBuf;
use std::sync::Arc;

use kirikae_algorithms::Algorithm;
use kirikae_results::outcome::Outcome as Results;
use kirikae_results::records::{Clock, Records};
use kirikae_results::report;
use kirikae_results::summary::Summary;
use kirikae_scenario::Scenario as Parsed;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::{Error, failed};
use crate::table::{Kind, Table};

/// What came of a simulation. As Arrow it is its bursts, or its flows if nothing is compared write by write;
/// str() is the table that `kirikae-lab sim` prints.
#[pyclass(frozen, module = "kirikae")]
pub struct Outcome {
    results: Arc<Results>,
    algorithms: Vec<Algorithm>,
}

impl Outcome {
    pub fn new(results: Results, algorithms: Vec<Algorithm>) -> Outcome {
        Outcome { results: Arc::new(results), algorithms }
    }

    fn table(&self, kind: Kind) -> Table {
        Table::new(Arc::clone(&self.results), kind)
    }

    fn usual(&self) -> Table {
        let timed = self.results.comparisons.iter().any(|it| it.scenario.timed().is_some());
        self.table(if timed { Kind::Bursts } else { Kind::Flows })
    }
}

#[pymethods]
impl Outcome {
    /// A row for each burst of what is compared write by write, warm-up included. Times end in _s or _ns;
    /// latency_s, from the start of the write to the last byte in order, is null if the burst did not arrive.
    #[getter]
    fn bursts(&self) -> Table {
        self.table(Kind::Bursts)
    }

    /// A row for each connection: what it sent, its goodput in bit/s, its latencies in seconds.
    #[getter]
    fn flows(&self) -> Table {
        self.table(Kind::Flows)
    }

    /// A row for each switch of congestion control, and what was known of the path then.
    #[getter]
    fn switches(&self) -> Table {
        self.table(Kind::Switches)
    }

    /// The summary as JSON, as `kirikae-lab sim --json` prints it.
    fn json(&self) -> PyResult<String> {
        let json = serde_json::to_string_pretty(&Summary::of(&self.results));
        json.map_err(|error| Error::new_err(error.to_string()))
    }

    /// The summary: latencies, ratios and regret of each contender, each estimate with half the width of its
    /// 95 % interval.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.json()?,))
    }

    /// Makes a directory of its own in `directory` and writes the records that `kirikae-lab sim --output`
    /// writes, byte for byte. Returns its path.
    fn write(&self, directory: PathBuf) -> PyResult<PathBuf> {
        let scenarios: Vec<Parsed> =
            self.results.comparisons.iter().map(|it| it.scenario.clone()).collect();
        let records = Records::create(&directory, &scenarios, Clock::Virtual);
        let written = records.and_then(|records| {
            records.write(&self.results, &self.algorithms)?;
            Ok(records.directory().to_owned())
        });
        written.map_err(|error| failed(&error))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.usual().stream(py)
    }

    fn __str__(&self) -> String {
        report::render(&self.results, false)
    }

    fn __repr__(&self) -> String {
        let scenarios = self.results.comparisons.len();
        format!("<Outcome of {scenarios} scenario(s), {} bursts>", self.bursts().rows())
    }

    fn _repr_html_(&self) -> String {
        let text = report::render(&self.results, false);
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("<pre>{text}</pre>")
    }
}
