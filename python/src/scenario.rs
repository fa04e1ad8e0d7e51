//! Scenarios: what a file says, or the same from Python.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kirikae_settings::Refusal;
use kirikae_settings::section::Source;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::Value;

use crate::errors::refused;

/// What refusals and records call a scenario that was not read from a file.
const NO_FILE: &str = "scenario.toml";

/// What a scenario file says: one scenario, or with `[sweep]` one for each combination of its values.
///
/// Keyword arguments are the file's sections and keys, with the same names, units and refusals:
///
/// >>> Scenario(title="A path", seed=1, workload={"burst": "64 KiB", ...}, path={...})
#[pyclass(frozen, module = "kirikae")]
pub struct Scenario {
    file: PathBuf,
    text: String,
    /// The texts of the files that it names, by their names in it.
    named: BTreeMap<String, String>,
    /// What the text says, one or several.
    pub scenarios: Vec<kirikae_scenario::Scenario>,
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (**values))]
    fn new(values: Option<&Bound<PyDict>>, py: Python) -> PyResult<Scenario> {
        let values = values.cloned().unwrap_or_else(|| PyDict::new(py));
        Scenario::from_dict(&values, NO_FILE.into())
    }

    /// Reads a scenario file. Raises ScenarioError with the first thing that is wrong.
    #[staticmethod]
    fn load(path: PathBuf, py: Python) -> PyResult<Scenario> {
        const EXAMPLE: &str = "a scenario file, such as scenarios/shallow.toml";
        Source::read(&path, EXAMPLE).and_then(parsed).map_err(|refusal| refused(py, &refusal))
    }

    /// Reads the text of a scenario file. `file` is what refusals and records call it; files that it
    /// names are looked for beside that.
    #[staticmethod]
    #[pyo3(signature = (text, *, file = NO_FILE.into()))]
    fn from_toml(text: String, file: PathBuf, py: Python) -> PyResult<Scenario> {
        parsed(Source::new(file, text)).map_err(|refusal| refused(py, &refusal))
    }

    /// Reads what the TOML of a file would be as dicts, lists, texts and numbers. `file` is as in
    /// `from_toml`; lines are not told.
    #[staticmethod]
    #[pyo3(signature = (values, *, file = NO_FILE.into()))]
    fn from_dict(values: &Bound<PyDict>, file: PathBuf) -> PyResult<Scenario> {
        let value = value(values, "", &file)?;
        without_lines(values.py(), file, &value)
    }

    /// The scenario with changes: `changes` by the full name of a key, as refusals have it, and
    /// keyword arguments for those that have neither points nor places. None leaves a key out.
    ///
    /// >>> scenario.with_({"workload.burst": "16 KiB", "path.forward[0].rate": "5 Mbit/s"}, seed=7)
    #[pyo3(signature = (changes = None, /, **keys))]
    fn with_(
        &self,
        changes: Option<&Bound<PyDict>>,
        keys: Option<&Bound<PyDict>>,
        py: Python,
    ) -> PyResult<Scenario> {
        let mut table = Value::Table(toml::from_str(&self.text).expect("was read before"));
        for (key, new) in [changes, keys].into_iter().flatten().flatten() {
            let key: String = key.extract()?;
            let new = if new.is_none() { None } else { Some(value(&new, &key, &self.file)?) };
            let refuse =
                |allowed| refused(py, &refusal(&self.file, &key, "no such place", allowed));
            change(&mut table, &key, new).map_err(refuse)?;
        }
        without_lines(py, self.file.clone(), &table)
    }

    /// What refusals and records call the file.
    #[getter]
    fn file(&self) -> String {
        self.file.display().to_string()
    }

    /// The text of a file that says the same.
    #[getter]
    fn toml(&self) -> &str {
        &self.text
    }

    /// The texts of the files that it names, by their names in it.
    #[getter]
    fn named(&self) -> BTreeMap<String, String> {
        self.named.clone()
    }

    /// It travels as text, with the texts of the files that it names.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, State)> {
        let restored = py.import("kirikae._kirikae")?.getattr("restored")?;
        Ok((restored, (self.text.clone(), self.file.clone(), self.named.clone())))
    }

    /// The title of each scenario.
    #[getter]
    fn titles(&self) -> Vec<&str> {
        self.scenarios.iter().map(|scenario| &*scenario.title).collect()
    }

    /// The names of those who are compared.
    #[getter]
    fn contenders(&self) -> Vec<&'static str> {
        let first = self.scenarios.first();
        first.into_iter().flat_map(|it| &it.contenders).map(|it| it.name()).collect()
    }

    /// Number of scenarios; 1 without a sweep.
    fn __len__(&self) -> usize {
        self.scenarios.len()
    }

    fn __repr__(&self) -> String {
        let first = self.scenarios.first().map_or("", |scenario| &*scenario.title);
        let others = match self.scenarios.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        format!("<kirikae.Scenario {first:?}{others}, {}>", self.file.display())
    }
}

/// What a scenario travels as: text, file, texts of the files that it names.
type State = (String, PathBuf, BTreeMap<String, String>);

/// A scenario that has travelled. No file is read.
#[pyfunction]
pub fn restored(
    text: String,
    file: PathBuf,
    named: BTreeMap<String, String>,
    py: Python,
) -> PyResult<Scenario> {
    let source = Source::new(file, text).with_named(named);
    parsed(source).map_err(|refusal| refused(py, &refusal))
}

fn parsed(source: Source) -> Result<Scenario, Refusal> {
    let scenarios = kirikae_scenario::Scenario::of_source(&source)?;
    let (file, text) = (source.file.clone(), source.text.clone());
    Ok(Scenario { file, text, named: source.into_named(), scenarios })
}

/// Of values that nobody has written into lines.
fn without_lines(py: Python, file: PathBuf, value: &Value) -> PyResult<Scenario> {
    let text = toml::to_string(value).expect("tables with texts as keys");
    parsed(Source::new(file, text))
        .map_err(|refusal| refused(py, &Refusal { line: None, ..refusal }))
}

fn refusal(file: &Path, key: &str, found: &str, allowed: String) -> Refusal {
    let key = Some(key.to_owned()).filter(|key| !key.is_empty());
    Refusal { file: file.to_owned(), line: None, key, found: found.into(), allowed }
}

/// What a value of Python is in TOML. `key` is its full name.
fn value(of: &Bound<PyAny>, key: &str, file: &Path) -> PyResult<Value> {
    let py = of.py();
    if let Ok(table) = of.cast::<PyDict>() {
        let entry = |(name, entry): (Bound<PyAny>, Bound<PyAny>)| {
            let name: String = name.extract()?;
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            Ok((name, value(&entry, &key, file)?))
        };
        return table.iter().map(entry).collect::<PyResult<_>>().map(Value::Table);
    }
    if of.is_instance_of::<PyList>() || of.is_instance_of::<PyTuple>() {
        let entry =
            |(place, entry): (usize, PyResult<_>)| value(&entry?, &format!("{key}[{place}]"), file);
        return of.try_iter()?.enumerate().map(entry).collect::<PyResult<_>>().map(Value::Array);
    }
    let written = if let Ok(text) = of.cast::<PyString>() {
        Some(Value::String(text.extract()?))
    } else if of.is_instance_of::<PyBool>() {
        Some(Value::Boolean(of.extract()?))
    } else if of.is_instance_of::<PyInt>() {
        of.extract().ok().map(Value::Integer)
    } else if of.is_instance_of::<PyFloat>() {
        Some(Value::Float(of.extract()?))
    } else {
        None
    };
    const ALLOWED: &str =
        "a text, a number (whole ones of 64 bits with sign), True or False, a list, a dict";
    written.ok_or_else(|| {
        let found = of.repr().map_or_else(|_| of.get_type().to_string(), |text| text.to_string());
        refused(py, &refusal(file, key, &found, ALLOWED.into()))
    })
}

/// Puts a value at the full name of a key, or takes it away. Tables on the way are made.
///
/// # Errors
/// Says what is allowed where there is no such place.
fn change(root: &mut Value, key: &str, new: Option<Value>) -> Result<(), String> {
    const ALLOWED: &str = "names between points, with [0], [1] and so on for those in a list";
    let mut at = root;
    let steps = steps(key).ok_or(ALLOWED)?;
    let (last, way) = steps.split_last().ok_or(ALLOWED)?;
    for step in way {
        at = match (step, at) {
            (Step::Name(name), Value::Table(table)) => {
                table.entry(*name).or_insert_with(|| Value::Table(toml::Table::new()))
            }
            (Step::Place(place), Value::Array(array)) => {
                let count = array.len();
                array.get_mut(*place).ok_or_else(|| format!("a place below {count}"))?
            }
            _ => return Err(ALLOWED.into()),
        };
    }
    match (last, at, new) {
        (Step::Name(name), Value::Table(table), Some(new)) => {
            table.insert((*name).to_owned(), new);
        }
        (Step::Name(name), Value::Table(table), None) => {
            table.remove(*name).ok_or("a key that is there, if it is to be left out")?;
        }
        (Step::Place(place), Value::Array(array), new) if *place < array.len() => match new {
            Some(new) => array[*place] = new,
            None => {
                array.remove(*place);
            }
        },
        (Step::Place(_), Value::Array(array), _) => {
            return Err(format!("a place below {}", array.len()));
        }
        _ => return Err(ALLOWED.into()),
    }
    Ok(())
}

/// A step from a value to one within it.
enum Step<'a> {
    Name(&'a str),
    Place(usize),
}

/// The steps of a full name; None if it is none.
fn steps(key: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    for part in key.split('.') {
        let (name, places) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() {
            return None;
        }
        steps.push(Step::Name(name));
        for place in places.split_terminator(']') {
            steps.push(Step::Place(place.strip_prefix('[')?.parse().ok()?));
        }
        if !places.is_empty() && !places.ends_with(']') {
            return None;
        }
    }
    Some(steps)
}
