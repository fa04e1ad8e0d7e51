//! Scenarios, from files and from Python's dictionaries.

use std::path::PathBuf;

use kirikae_scenario::Scenario as Parsed;
use kirikae_settings::Refusal;
use kirikae_settings::section::Source;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use toml_edit::DocumentMut;

use crate::error::refused;
use crate::toml::{self, Wrong};

/// What a refusal calls a scenario that is from no file.
const DICTIONARY: &str = "<dict>";

/// A scenario, or one for each combination of its sweep: links, what applications do on flows over them, and
/// what is compared. Names, units and refusals are those of scenario files (docs/scenarios.md).
///
/// Scenario({...}) and Scenario(title=..., seed=..., ...) take the sections of a file; files that they name
/// are looked for in the working directory.
#[pyclass(frozen, module = "kirikae")]
pub struct Scenario {
    file: PathBuf,
    text: String,
    pub parsed: Vec<Parsed>,
}

impl Scenario {
    fn parse(file: PathBuf, text: String) -> Result<Scenario, Refusal> {
        let parsed = Parsed::parse(&file, text.clone());
        let parsed = parsed.map_err(|refusal| unnumbered(refusal, &file))?;
        Ok(Scenario { file, text, parsed })
    }

    /// The text that it was read from, once more.
    pub fn source(&self) -> Source {
        Source { file: self.file.clone(), text: self.text.clone() }
    }

    fn refuse(&self, Wrong { key, found, allowed }: Wrong) -> Refusal {
        Refusal { file: self.file.clone(), line: None, key: Some(key), found, allowed }
    }
}

/// Nobody sees the lines of what a dictionary was turned into.
fn unnumbered(refusal: Refusal, file: &PathBuf) -> Refusal {
    let line = refusal.line.filter(|_| file.as_os_str() != DICTIONARY || refusal.file != *file);
    Refusal { line, ..refusal }
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (sections=None, /, **named))]
    fn new(
        py: Python,
        sections: Option<&Bound<PyDict>>,
        named: Option<&Bound<PyDict>>,
    ) -> PyResult<Scenario> {
        let file = PathBuf::from(DICTIONARY);
        let all = PyDict::new(py);
        for some in sections.into_iter().chain(named) {
            all.update(some.as_mapping())?;
        }
        let document = toml::document(&all)?.map_err(|Wrong { key, found, allowed }| {
            refused(&Refusal { file: file.clone(), line: None, key: Some(key), found, allowed })
        })?;
        Scenario::parse(file, document.to_string()).map_err(|refusal| refused(&refusal))
    }

    /// Reads a scenario file.
    ///
    /// Raises ScenarioError with the first thing that is wrong: its file, line and key.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Scenario> {
        let read =
            Parsed::source(&path).and_then(|Source { file, text }| Scenario::parse(file, text));
        read.map_err(|refusal| refused(&refusal))
    }

    /// The same scenario with other values: with_({"path.forward[0].rate": "5 Mbit/s"}, seed=7). A key is
    /// called as refusals call it; all but its last part must be there.
    #[pyo3(signature = (changes=None, /, **named))]
    fn with_(
        &self,
        changes: Option<&Bound<PyDict>>,
        named: Option<&Bound<PyDict>>,
    ) -> PyResult<Scenario> {
        let mut document: DocumentMut = self.text.parse().expect("it was read before");
        for (key, value) in changes.into_iter().chain(named).flatten() {
            let key = key.str()?.to_string();
            let set =
                toml::value(&key, &value)?.and_then(|value| toml::set(&mut document, &key, value));
            set.map_err(|wrong| refused(&self.refuse(wrong)))?;
        }
        let changed = Scenario::parse(self.file.clone(), document.to_string());
        changed.map_err(|refusal| refused(&refusal))
    }

    /// The file that it was read from; "<dict>" if it is from none.
    #[getter]
    fn file(&self) -> String {
        self.file.display().to_string()
    }

    /// The scenario as TOML.
    #[getter]
    fn toml(&self) -> &str {
        &self.text
    }

    /// The title of each combination of the sweep; one without a sweep.
    #[getter]
    fn titles(&self) -> Vec<&str> {
        self.parsed.iter().map(|scenario| scenario.title.as_str()).collect()
    }

    /// The contenders, in the order of the tables' rows.
    #[getter]
    fn contenders(&self) -> Vec<&'static str> {
        self.parsed[0].contenders.iter().map(|contender| contender.name()).collect()
    }

    /// The seed of the first repetition.
    #[getter]
    fn seed(&self) -> u64 {
        self.parsed[0].seed
    }

    /// How often each contender is simulated, each time with the next seed.
    #[getter]
    fn repetitions(&self) -> u32 {
        self.parsed[0].repetitions
    }

    /// Number of combinations of the sweep; 1 without one.
    fn __len__(&self) -> usize {
        self.parsed.len()
    }

    fn __repr__(&self) -> String {
        let title = &self.parsed[0].title;
        match self.parsed.len() {
            1 => format!("<Scenario {title:?} ({})>", self.file.display()),
            n => format!("<Scenario {title:?} and {} more ({})>", n - 1, self.file.display()),
        }
    }
}
