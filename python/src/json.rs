//! What is told as JSON, as Python has it.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The dict that a text of JSON stands for.
pub fn dict<'py>(text: &str, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    Ok(py.import("json")?.getattr("loads")?.call1((text,))?.cast_into()?)
}
