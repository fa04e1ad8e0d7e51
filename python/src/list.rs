//! What is in a column as Python's own values, for whoever has no package that reads Arrow.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use arrow_array::{Array, StringArray, StructArray};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The values of an array, None where one is missing.
pub fn list<'py>(array: &dyn Array, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
    match array.data_type() {
        DataType::Boolean => PyList::new(py, array.as_boolean()),
        DataType::UInt64 => PyList::new(py, array.as_primitive::<UInt64Type>()),
        DataType::Float64 => PyList::new(py, array.as_primitive::<Float64Type>()),
        DataType::Utf8 => PyList::new(py, array.as_string::<i32>()),
        DataType::Dictionary(..) => {
            let texts = array.as_dictionary::<Int32Type>().downcast_dict::<StringArray>();
            PyList::new(py, texts.expect("dictionaries are of texts"))
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>().iter();
            let lists = lists.map(|it| it.map(|values| list(&values, py)).transpose());
            PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
        }
        DataType::Map(..) => {
            let maps = array.as_map().iter();
            let maps = maps.map(|it| it.map(|entries| dict(&entries, py)).transpose());
            PyList::new(py, maps.collect::<PyResult<Vec<_>>>()?)
        }
        other => unreachable!("no column is of {other}"),
    }
}

/// The entries of a map.
fn dict<'py>(entries: &StructArray, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let keys = list(entries.column(0), py)?;
    let dict = PyDict::new(py);
    for (key, value) in keys.iter().zip(list(entries.column(1), py)?) {
        dict.set_item(key, value)?;
    }
    Ok(dict)
}
