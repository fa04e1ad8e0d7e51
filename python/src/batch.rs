//! A part of a plan that travels to whoever computes it, and what comes back.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use bytes::Bytes;
use kirikae_results::contest::{Contest, Kept};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::Error;
use crate::out_of_tree;
use crate::packed::{pack, unpack};
use crate::plan::Names;
use crate::simulate::{simulated, until_signal};

/// Simulates `count` consecutive seeds of one contender on one thread. Returns what came of each as a Parquet file, and
/// how many seconds one took, the median.
///
/// `place` is that of the scenario among those that `scenario` says. Raises Error with the seed that failed.
#[pyfunction]
pub fn simulate_batch<'py>(
    scenario: &crate::scenario::Scenario,
    place: usize,
    contender: &str,
    seed: u64,
    count: u32,
    py: Python<'py>,
) -> PyResult<(Bound<'py, PyBytes>, f64)> {
    let scenarios = &scenario.scenarios;
    let scenario = scenarios.get(place).ok_or_else(|| {
        Error::new_err(format!("place: found {place}; allowed: below {}", scenarios.len()))
    })?;
    let mut one = scenario.clone();
    one.contenders = Names::Text(contender.into()).contenders().map_err(Error::new_err)?;
    (one.seed, one.repetitions) = (seed, count);
    let each = move |stop: &AtomicBool| {
        let controls = out_of_tree::controls();
        let mut seconds = Vec::new();
        let mut kept: Vec<Kept> = Vec::new();
        for contest in Contest::of(&one) {
            let begin = Instant::now();
            let outcome = simulated(contest, &controls, stop);
            kept.push(outcome.map_err(|error| format!("seed {}: {error}", contest.seed))?);
            seconds.push(begin.elapsed().as_secs_f64());
        }
        let packed = pack(&one.title, &kept).map_err(|error| error.to_string())?;
        seconds.sort_by(f64::total_cmp);
        Ok::<_, String>((packed, seconds[seconds.len() / 2]))
    };
    let (packed, seconds) = until_signal(py, 1, each, |_| Ok(()))?.map_err(Error::new_err)?;
    Ok((PyBytes::new(py, &packed), seconds))
}

/// What came of each seed of a batch. It is given away once.
#[pyclass(frozen, module = "kirikae._kirikae")]
pub struct Results(Mutex<Vec<Kept>>);

#[pymethods]
impl Results {
    /// Of the file that `simulate_batch` returned.
    #[new]
    fn new(packed: PyBackedBytes, py: Python) -> PyResult<Results> {
        let kept = py.detach(|| unpack(Bytes::from_owner(packed)));
        let kept = kept.map_err(|error| Error::new_err(format!("results of a batch: {error}")))?;
        Ok(Results(Mutex::new(kept)))
    }
}

impl Results {
    /// Gives them away.
    pub fn take(&self) -> Vec<Kept> {
        std::mem::take(&mut self.0.lock().expect("nobody panics with it"))
    }
}
