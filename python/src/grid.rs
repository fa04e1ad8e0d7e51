//! Grids: where latency tables are measured, and how exactly.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use kirikae_settings::Refusal;
use kirikae_simlab::characterize::{self, GridFile};
use pyo3::prelude::*;

use crate::errors::Error;

/// What a grid file says (docs/tables.md): the places of a latency table, and how exactly each is measured.
#[pyclass(frozen, module = "kirikae")]
pub struct Grid(pub Arc<GridFile>);

#[pymethods]
impl Grid {
    /// Reads a grid file. Raises Error with the first thing that is wrong.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Grid> {
        GridFile::load(&path).map(Grid::of).map_err(refused)
    }

    /// Reads the text of a grid file. `file` is what refusals call it.
    #[staticmethod]
    #[pyo3(signature = (text, *, file = "grid.toml".into()))]
    fn from_toml(text: &str, file: PathBuf) -> PyResult<Grid> {
        // The laboratory reads grids from files alone.
        let written = tempfile::NamedTempFile::new().and_then(|mut written| {
            written.write_all(text.as_bytes())?;
            Ok(written)
        });
        let written =
            written.map_err(|error| Error::new_err(format!("a grid as a file: {error}")))?;
        let read = GridFile::load(written.path());
        read.map(Grid::of).map_err(|refusal| refused(Refusal { file, ..refusal }))
    }

    /// The text of a file that says the same, without comments.
    #[getter]
    fn toml(&self) -> String {
        self.0.lines.join("\n") + "\n"
    }

    /// The names of the algorithms that are measured.
    #[getter]
    fn algorithms(&self) -> Vec<&'static str> {
        self.0.algorithms.iter().map(|algorithm| algorithm.name()).collect()
    }

    /// The names of those among them that a table gets.
    #[getter]
    fn candidates(&self) -> Vec<&'static str> {
        let candidates = self.0.candidates.iter();
        candidates.map(|&place| self.0.algorithms[place].name()).collect()
    }

    /// Number of places.
    fn __len__(&self) -> usize {
        characterize::places(&self.0)
    }

    fn __repr__(&self) -> String {
        format!("<kirikae.Grid of {} places: {}>", self.__len__(), self.algorithms().join(", "))
    }
}

impl Grid {
    fn of(file: GridFile) -> Grid {
        Grid(Arc::new(file))
    }
}

fn refused(refusal: Refusal) -> PyErr {
    Error::new_err(refusal.to_string())
}
