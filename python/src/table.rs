//! A table that other packages take over as it is, by the Arrow PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::Error;

/// A table in the memory layout of Apache Arrow, which pyarrow, polars, pandas and duckdb take without a
/// copy: `polars.DataFrame(table)`, `pyarrow.table(table).to_pandas()`.
#[pyclass(frozen, module = "kirikae")]
pub struct Table(pub RecordBatch);

#[pymethods]
impl Table {
    /// The names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Number of its rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        let columns = self.column_names().join(", ");
        format!("<kirikae.Table of {} rows: {columns}>", self.0.num_rows())
    }

    /// Its rows as an Arrow stream. Whatever schema is asked for, it is given as it is.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        requested_schema: Option<Bound<'py, PyAny>>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Its schema as an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema_ref().as_ref());
        let schema = schema.map_err(|error| Error::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
