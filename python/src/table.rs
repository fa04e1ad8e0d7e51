//! A table that other packages take over as it is, by the Arrow PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use kirikae_results::outcome::Outcome;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::errors::Error;
use crate::list::list;
use crate::tables::{Kind, Played};

/// Rows of a batch, or a few more: so many that what a batch costs does not matter, and so few that the
/// memory of one does not either.
const BATCH: usize = 1 << 17;

/// A table in the memory layout of Apache Arrow, which pyarrow, polars, pandas and duckdb take without a
/// copy: `polars.DataFrame(table)`, `pyarrow.table(table).to_pandas()`.
#[pyclass(frozen, module = "kirikae")]
pub struct Table(Rows);

enum Rows {
    /// Those of this kind, which are made when they are asked for.
    OfOutcome(Arc<Outcome>, &'static Kind),
    /// These.
    Made(RecordBatch),
}

impl Table {
    /// What an outcome says of this kind.
    pub fn of_outcome(outcome: &Arc<Outcome>, kind: &'static Kind) -> Table {
        Table(Rows::OfOutcome(Arc::clone(outcome), kind))
    }

    /// These rows.
    pub fn made(rows: RecordBatch) -> Table {
        Table(Rows::Made(rows))
    }

    fn schema(&self) -> SchemaRef {
        match &self.0 {
            Rows::OfOutcome(_, kind) => kind.schema(),
            Rows::Made(rows) => rows.schema(),
        }
    }

    /// Its rows, a batch at a time.
    fn batches(&self) -> Box<dyn Iterator<Item = RecordBatch> + Send> {
        match &self.0 {
            Rows::OfOutcome(outcome, kind) => Box::new(of_outcome(Arc::clone(outcome), kind)),
            Rows::Made(rows) => Box::new(std::iter::once(rows.clone())),
        }
    }
}

/// The batches of an outcome.
fn of_outcome(
    outcome: Arc<Outcome>,
    kind: &'static Kind,
) -> impl Iterator<Item = RecordBatch> + Send {
    let mut begin = 0;
    std::iter::from_fn(move || {
        let mut rows = 0;
        let few = |played: &Played| {
            let fits = rows < BATCH;
            rows += kind.rows(played);
            fits
        };
        let played: Vec<Played> = Played::all(&outcome).skip(begin).take_while(few).collect();
        begin += played.len();
        (!played.is_empty()).then(|| kind.batch(&played))
    })
}

#[pymethods]
impl Table {
    /// The names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The values of a column as a list, None where one is missing.
    fn column<'py>(&self, name: &str, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let place = self.schema().index_of(name).map_err(|_| {
            let allowed = self.column_names().join(", ");
            Error::new_err(format!("column: found {name:?}; allowed: {allowed}"))
        })?;
        let values = PyList::empty(py);
        let mut batches = self.batches();
        while let Some(batch) = py.detach(|| batches.next()) {
            for value in list(batch.column(place), py)? {
                values.append(value)?;
            }
        }
        Ok(values)
    }

    /// Number of its rows.
    fn __len__(&self) -> usize {
        match &self.0 {
            Rows::OfOutcome(outcome, kind) => Played::all(outcome).map(|it| kind.rows(&it)).sum(),
            Rows::Made(rows) => rows.num_rows(),
        }
    }

    fn __repr__(&self) -> String {
        let columns = self.column_names().join(", ");
        format!("<kirikae.Table of {} rows: {columns}>", self.__len__())
    }

    /// Its rows as an Arrow stream. Whatever schema is asked for, it is given as it is.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        requested_schema: Option<Bound<'py, PyAny>>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches().map(Ok);
        let batches = RecordBatchIterator::new(batches, self.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Its schema as an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema());
        let schema = schema.map_err(|error| Error::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
