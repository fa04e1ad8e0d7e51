//! Latency tables: which latency was measured of each algorithm on which path.

use std::borrow::Cow;
use std::ffi::CString;
use std::path::PathBuf;

use kirikae_provenance::table_is_stale;
use kirikae_table::{Friendliness, Load, Place};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::errors::Error;
use crate::table::Table;

/// The latency that each algorithm had at each place of a grid of paths and loads, as `kirikae-lab
/// characterize` measures it.
#[pyclass(frozen, module = "kirikae")]
pub struct LatencyTable(pub Cow<'static, kirikae_table::LatencyTable>);

#[pymethods]
impl LatencyTable {
    /// The table that ships with Kirikae, with all of its algorithms.
    #[staticmethod]
    fn shipped() -> LatencyTable {
        LatencyTable(Cow::Borrowed(kirikae_table::shipped()))
    }

    /// Reads the file of a table. Raises Error with the first thing that is wrong, and warns if it was measured
    /// with other sources than this Kirikae is made of.
    #[staticmethod]
    fn load(path: PathBuf, py: Python) -> PyResult<LatencyTable> {
        let told = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| Error::new_err(told(&error)))?;
        let table = kirikae_table::LatencyTable::parse(&text);
        let table = table.map_err(|error| Error::new_err(told(&error)))?;
        if let Some(problem) = table_is_stale(&table.origin) {
            let warning = CString::new(told(&problem) + " (docs/tables.md)")?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, 1)?;
        }
        Ok(LatencyTable(Cow::Owned(table)))
    }

    /// The names of its algorithms, which are the candidates.
    #[getter]
    fn algorithms(&self) -> Vec<String> {
        self.0.algorithms.clone()
    }

    /// What was measured, a row for each place and algorithm.
    #[getter]
    fn rows(&self) -> Table {
        let kirikae_table::LatencyTable { grid, algorithms, .. } = &*self.0;
        let places = (0..grid.len()).map(|number| grid.place(number));
        let rows = places.zip(self.0.rows()).flat_map(|(place, measured)| {
            algorithms.iter().zip(measured).map(move |(algorithm, it)| (place, algorithm, it))
        });
        let columns = of_places(rows, |(place, ..)| place)
            .text("algorithm", |(_, algorithm, _)| algorithm)
            .number("latency_s", |(.., measured)| measured.latency_s)
            .number("isolated", |(.., measured)| measured.isolated)
            .number("bursts", |(.., measured)| measured.bursts);
        Table::made(columns.table())
    }

    /// The text of its file.
    fn to_text(&self) -> String {
        self.0.to_text()
    }

    /// Number of places.
    fn __len__(&self) -> usize {
        self.0.grid.len()
    }

    fn __repr__(&self) -> String {
        let algorithms = self.0.algorithms.join(", ");
        format!("<kirikae.LatencyTable of {} places: {algorithms}>", self.__len__())
    }
}

/// The columns that say of which place of a grid each row is.
pub fn of_places<R, I: Iterator<Item = R> + Clone>(
    rows: I,
    place: impl Fn(R) -> Place + Copy,
) -> Columns<I> {
    Columns::of(rows)
        .number("rtt_ms", |row| f64::from(place(row).rtt_us) / 1e3)
        .number("rate_mbit", |row| place(row).rate as f64 / 1e6)
        .whole_if_any("burst_bytes", |row| match place(row).load {
            Load::Burst(bytes) => Some(bytes.into()),
            Load::Stream(_) => None,
        })
        .number_if_any("stream_share", |row| match place(row).load {
            Load::Burst(_) => None,
            Load::Stream(share) => Some(share),
        })
        .number("loss", |row| place(row).condition.loss)
        .number("burst_loss", |row| place(row).condition.burst_loss)
        .whole("queue", |row| place(row).condition.queue.into())
}

/// The table with the candidates that may be chosen: of the one that ships the balanced ones, of one that is given
/// all, unless `friendliness` says otherwise.
pub fn candidates<'a>(
    table: Option<&'a LatencyTable>,
    friendliness: Option<&str>,
) -> PyResult<Cow<'a, kirikae_table::LatencyTable>> {
    let (table, friendliness) = match (table, friendliness.map(named).transpose()?) {
        (Some(LatencyTable(table)), None) => return Ok(Cow::Borrowed(table)),
        (Some(LatencyTable(table)), Some(friendliness)) => (&**table, friendliness),
        (None, friendliness) => (kirikae_table::shipped(), friendliness.unwrap_or_default()),
    };
    let allowed = friendliness.apply(table);
    allowed.map(Cow::Owned).map_err(|error| Error::new_err(format!("friendliness: {error}")))
}

fn named(name: &str) -> PyResult<Friendliness> {
    Friendliness::ALL.into_iter().find(|it| it.name() == name).ok_or_else(|| {
        let allowed = Friendliness::ALL.map(Friendliness::name).join(", ");
        Error::new_err(format!("friendliness: found {name:?}; allowed: {allowed}"))
    })
}
