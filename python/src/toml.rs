//! Python's values as TOML, and changes to a TOML text that leave the rest of it as it is.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Value};

/// What is wrong with a key: its full name, what was found, what is allowed.
pub struct Wrong {
    pub key: String,
    pub found: String,
    pub allowed: String,
}

/// A dictionary as a TOML document.
pub fn document(table: &Bound<PyDict>) -> PyResult<Result<DocumentMut, Wrong>> {
    let mut document = DocumentMut::new();
    for (key, value) in table {
        let key = key.str()?.to_string();
        match self::value(&key, &value)? {
            Ok(value) => document.insert(&key, Item::Value(value)),
            Err(wrong) => return Ok(Err(wrong)),
        };
    }
    Ok(Ok(document))
}

/// A value of Python's; `key` is its full name.
pub fn value(key: &str, value: &Bound<PyAny>) -> PyResult<Result<Value, Wrong>> {
    const ALLOWED: &str = "text, a number, True, False, a list or a dictionary of these";
    let refuse = |allowed: &str| -> PyResult<Result<Value, Wrong>> {
        let found = format!("found {}", value.repr()?);
        Ok(Err(Wrong { key: key.into(), found, allowed: allowed.into() }))
    };
    // True is an int to Python, too.
    Ok(Ok(if value.is_instance_of::<PyBool>() {
        value.extract::<bool>()?.into()
    } else if value.is_instance_of::<PyInt>() {
        match value.extract::<i64>() {
            Ok(whole) => whole.into(),
            Err(_) => return refuse("a whole number of 64 bits, as TOML has them"),
        }
    } else if value.is_instance_of::<PyFloat>() {
        value.extract::<f64>()?.into()
    } else if value.is_instance_of::<PyString>() {
        value.extract::<String>()?.into()
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let mut list = Array::new();
        for (place, each) in value.try_iter()?.enumerate() {
            match self::value(&format!("{key}[{place}]"), &each?)? {
                Ok(each) => list.push(each),
                wrong => return Ok(wrong),
            }
        }
        list.into()
    } else if let Ok(dictionary) = value.cast::<PyDict>() {
        let mut table = InlineTable::new();
        for (name, each) in dictionary {
            let name = name.str()?.to_string();
            match self::value(&format!("{key}.{name}"), &each)? {
                Ok(each) => drop(table.insert(&name, each)),
                wrong => return Ok(wrong),
            }
        }
        table.into()
    } else {
        return refuse(ALLOWED);
    }))
}

/// Gives `key`, such as `path.forward[0].rate`, this value. All but its last part must be there.
pub fn set(document: &mut DocumentMut, key: &str, value: Value) -> Result<(), Wrong> {
    let parts: Vec<Part> = key.split('.').flat_map(parts).collect();
    let (last, way) = parts.split_last().expect("a text has at least one part");
    let mut item = document.as_item_mut();
    for part in way {
        let allowed = allowed(item);
        let wrong = || missing(key, part, allowed);
        item = match part {
            Part::Name(name) => item.get_mut(name).ok_or_else(wrong)?,
            Part::Place(place) => item.get_mut(*place).ok_or_else(wrong)?,
        };
    }
    let allowed = allowed(item);
    let there = match last {
        Part::Name(name) => item.get_mut(name),
        Part::Place(place) => item.get_mut(*place),
    };
    if let Some(there) = there {
        replace(there, value);
        return Ok(());
    }
    match (last, item.as_table_like_mut()) {
        (Part::Name(name), Some(table)) => drop(table.insert(name, Item::Value(value))),
        _ => return Err(missing(key, last, allowed)),
    }
    Ok(())
}

/// A value keeps the comment behind it, and an element of `[[name]]` stays a table.
fn replace(there: &mut Item, mut value: Value) {
    if let Some(replaced) = there.as_value() {
        value.decor_mut().clone_from(replaced.decor());
    }
    *there = match value {
        Value::InlineTable(table) if there.is_table() => Item::Table(table.into_table()),
        other => Item::Value(other),
    };
}

enum Part<'a> {
    Name(&'a str),
    Place(usize),
}

/// `forward[0]` is the name forward and the place 0; brackets without a number are part of a name.
fn parts(text: &str) -> Vec<Part<'_>> {
    let Some((name, place)) = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) else {
        return vec![Part::Name(text)];
    };
    match place.parse() {
        Ok(place) => {
            let mut parts = parts(name);
            parts.push(Part::Place(place));
            parts
        }
        Err(_) => vec![Part::Name(text)],
    }
}

/// What there is in a table or list.
fn allowed(item: &Item) -> String {
    if let Some(table) = item.as_table_like() {
        table.iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
    } else {
        let tables = item.as_array_of_tables().map(|list| list.len());
        match tables.or_else(|| item.as_array().map(Array::len)) {
            Some(length) => format!("a place below {length}"),
            None => "nothing below a value".into(),
        }
    }
}

fn missing(key: &str, part: &Part, allowed: String) -> Wrong {
    let found = match part {
        Part::Name(name) => format!("there is no {name}"),
        Part::Place(place) => format!("there is no [{place}]"),
    };
    Wrong { key: key.into(), found, allowed }
}
