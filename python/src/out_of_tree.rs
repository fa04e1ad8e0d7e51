//! Algorithms from outside of the tree that are loaded into this process.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use kirikae_algorithms::out_of_tree::{Compiled, Undefined, check, compile, load};
use kirikae_algorithms::{Algorithm, Parameter};
use kirikae_scenario::{Contender, Controls};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::Error;

/// What is loaded stays for good, so each is loaded once.
#[derive(Default)]
struct Loaded {
    by_object: HashMap<Compiled, Algorithm>,
    /// Those in use: of one name, the one that was asked for last.
    by_name: BTreeMap<&'static str, Algorithm>,
}

static LOADED: LazyLock<Mutex<Loaded>> = LazyLock::new(Mutex::default);

fn all_loaded() -> MutexGuard<'static, Loaded> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compiles the file of an algorithm: its name, the object, and whether it has a large state. If `checked`, what the
/// C leaves undefined ends the process.
#[pyfunction]
#[pyo3(signature = (path, *, checked))]
pub fn compile_algorithm<'py>(
    path: PathBuf,
    checked: bool,
    py: Python<'py>,
) -> PyResult<(String, Bound<'py, PyBytes>, bool)> {
    let undefined = if checked { Undefined::Traps } else { Undefined::Unchecked };
    let compiled = py.detach(|| compile(&path, undefined));
    let compiled = compiled.map_err(|refused| Error::new_err(refused.to_string()))?;
    Ok((compiled.name, PyBytes::new(py, &compiled.object), compiled.has_large_state))
}

/// Loads what was compiled, where it is not yet. From now on it contends under its name. Returns what is told of it.
#[pyfunction]
pub fn load_algorithm<'py>(
    name: String,
    object: Vec<u8>,
    has_large_state: bool,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let algorithm = loaded(Compiled { name, object, has_large_state })?;
    let told = PyDict::new(py);
    told.set_item("source", algorithm.source())?;
    told.set_item("good_at", algorithm.good_at())?;
    told.set_item("state", algorithm.state())?;
    let preset = |it: Parameter| (it.name, it.preset);
    told.set_item("parameters", algorithm.parameters().map(preset).collect::<BTreeMap<_, _>>())?;
    Ok(told)
}

/// Loads what was compiled, and plays against it what a connection may meet. Raises Error with what must hold and does
/// not.
#[pyfunction]
pub fn check_algorithm(name: String, object: Vec<u8>, has_large_state: bool) -> PyResult<()> {
    let algorithm = loaded(Compiled { name, object, has_large_state })?;
    check(algorithm).map_err(|refused| Error::new_err(refused.to_string()))
}

fn loaded(compiled: Compiled) -> PyResult<Algorithm> {
    let mut loaded = all_loaded();
    let algorithm = match loaded.by_object.get(&compiled) {
        Some(algorithm) => *algorithm,
        None => {
            // `compile_algorithm` has made it, here or where it was asked for, which is the same build.
            let algorithm =
                load(&compiled).map_err(|refused| Error::new_err(refused.to_string()))?;
            loaded.by_object.insert(compiled, algorithm);
            algorithm
        }
    };
    loaded.by_name.insert(algorithm.name(), algorithm);
    Ok(algorithm)
}

/// The contender that is called so, if it is loaded.
pub fn contender(name: &str) -> Option<Contender> {
    all_loaded().by_name.get(name).map(|algorithm| Contender::Fixed(algorithm.name()))
}

/// All that may contend: ours, and those that are loaded.
pub fn controls() -> Controls {
    let mut controls = Controls::default();
    controls.algorithms.extend(all_loaded().by_name.values());
    controls
}
