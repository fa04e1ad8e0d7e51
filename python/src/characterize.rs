//! Measures latency tables, as `kirikae-lab characterize` does.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kirikae_simlab::characterize::{self, GridFile, Measurement, Options, Report};
use kirikae_simlab::shards::Shard;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use rayon::prelude::*;

use crate::errors::{Error, failed};
use crate::grid::Grid;
use crate::html::preformatted;
use crate::json::dict;
use crate::latency_table::{LatencyTable, of_places};
use crate::simulate::{caught, count, until_signal};
use crate::table::Table;

/// Measures every algorithm at the places of the `index`-th (from 1) of `of` shards of a grid, on so many threads,
/// and returns what came of each as MessagePack.
///
/// Raises Error with the place that failed.
#[pyfunction]
#[pyo3(signature = (grid, index, of, threads = None))]
pub fn measure_shard<'py>(
    grid: &Grid,
    index: u32,
    of: u32,
    threads: Option<i128>,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyBytes>> {
    let shard = Shard::new(index, of)
        .ok_or_else(|| Error::new_err(format!("there is no shard {index} of {of}")))?;
    let grid = Arc::clone(&grid.0);
    let measure = move |stop: &AtomicBool| {
        let measure = |place| {
            if stop.load(Ordering::Relaxed) {
                return Err("interrupted".to_owned());
            }
            let measured = caught(|| characterize::measure(&grid, place));
            measured.map_err(|error| format!("{}: {error}", grid.grid.place(place)))
        };
        let places: Vec<usize> = shard.places(characterize::places(&grid)).collect();
        // One at a time: they differ in length.
        let each = places.into_par_iter().with_max_len(1).map(measure);
        let measured = each.collect::<Result<Vec<Vec<Measurement>>, String>>()?;
        rmp_serde::to_vec(&measured).map_err(|error| format!("results as MessagePack: {error}"))
    };
    let packed = until_signal(py, count(threads)?, measure, |_| Ok(()))?.map_err(Error::new_err)?;
    Ok(PyBytes::new(py, &packed))
}

/// What was measured of every algorithm at every place of a grid: the latency table that comes of it, and all else
/// that there is to know of the measurements.
#[pyclass(frozen, module = "kirikae")]
pub struct Characterization {
    grid: Arc<GridFile>,
    /// Of each place, what each algorithm did.
    measured: Vec<Vec<Measurement>>,
    report: Report,
    table: kirikae_table::LatencyTable,
}

#[pymethods]
impl Characterization {
    /// Of what `measure_shard` returned of each shard, in order.
    #[new]
    fn new(grid: &Grid, shards: Vec<PyBackedBytes>, py: Python) -> PyResult<Characterization> {
        let grid = Arc::clone(&grid.0);
        py.detach(|| Characterization::of(grid, &shards)).map_err(Error::new_err)
    }

    /// The latency table.
    #[getter]
    fn table(&self) -> LatencyTable {
        LatencyTable(Cow::Owned(self.table.clone()))
    }

    /// What was measured, a row for each place and algorithm, candidate or not.
    #[getter]
    fn rows(&self) -> Table {
        let algorithms = &self.grid.algorithms;
        let rows = self.measured.iter().enumerate().flat_map(|(place, measured)| {
            let place = self.grid.grid.place(place);
            algorithms.iter().zip(measured).map(move |(algorithm, it)| (place, algorithm, it))
        });
        let columns = of_places(rows, |(place, ..)| place)
            .text("algorithm", |(_, algorithm, _)| algorithm.name())
            .whole("repetitions", |(.., it)| it.repetitions.into())
            .whole("writes", |(.., it)| it.writes.into())
            .whole("unfinished", |(.., it)| it.unfinished.into())
            .number("mean_s", |(.., it)| it.mean_s)
            .number("half_width_s", |(.., it)| it.half_width_s)
            .number("p50_s", |(.., it)| it.p50_s)
            .number("p95_s", |(.., it)| it.p95_s)
            .whole("segments", |(.., it)| it.segments)
            .whole("isolated", |(.., it)| it.isolated)
            .number("isolated_rate", |(.., it)| it.isolated_rate)
            .whole("bursts", |(.., it)| it.bursts)
            .truth("capped", |(.., it)| it.capped);
        Table::made(columns.table())
    }

    /// What `kirikae-lab characterize --json` prints, but for what is of that run: `resumed` and `wall_s`.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = serde_json::to_string(&self.report).expect("a report is JSON");
        let summary = dict(&report, py)?;
        summary.del_item("resumed")?;
        summary.del_item("wall_s")?;
        Ok(summary)
    }

    /// Writes the file of the table, and into the directory `records`, if it is given, a Parquet file of all that was
    /// measured: the files of `kirikae-lab characterize`. A table that is there is replaced as a whole. Raises Error
    /// where records are there already, or something cannot be written.
    #[pyo3(signature = (output, *, records = None))]
    fn write(&self, output: PathBuf, records: Option<PathBuf>, py: Python) -> PyResult<()> {
        let options = Options { output, records };
        let written = py.detach(|| characterize::combine(&self.grid, &self.measured, &options));
        written.map(drop).map_err(|error| failed(py, &error))
    }

    fn __repr__(&self) -> String {
        let Report { places, algorithms, repetitions, writes, .. } = self.report;
        format!(
            "<kirikae.Characterization of {places} places, {algorithms} algorithms: {repetitions} connections with \
             {writes} bursts>"
        )
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.__repr__())
    }
}

impl Characterization {
    fn of(grid: Arc<GridFile>, shards: &[PyBackedBytes]) -> Result<Characterization, String> {
        let all = characterize::places(&grid);
        let mut measured: BTreeMap<usize, Vec<Measurement>> = BTreeMap::new();
        for (index, packed) in (1..).zip(shards) {
            let shard = Shard::new(index, shards.len() as u32).ok_or("too many shards")?;
            let read: Vec<Vec<Measurement>> = rmp_serde::from_slice(packed)
                .map_err(|error| format!("results of shard {shard}: {error}"))?;
            measured.extend(shard.places(all).zip(read));
        }
        let measured: Vec<Vec<Measurement>> = measured.into_values().collect();
        // The laboratory makes tables as files.
        let told = |error: std::io::Error| format!("a table as a file: {error}");
        let directory = tempfile::tempdir().map_err(told)?;
        let options = Options { output: directory.path().join("table.csv"), records: None };
        let report = characterize::combine(&grid, &measured, &options);
        let report = report.map_err(|error| error.to_string())?;
        let text = fs::read_to_string(&options.output).map_err(told)?;
        let table = kirikae_table::LatencyTable::parse(&text).expect("what was written is read");
        Ok(Characterization { grid, measured, report, table })
    }
}
