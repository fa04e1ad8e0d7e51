//! A part of a plan that travels to whoever computes it, and what comes back.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use kirikae_results::contest::Kept;
use kirikae_scenario::{Contender, Controls};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::Error;
use crate::simulate::{simulated, until_signal};

/// Simulates `count` consecutive seeds of one contender on one thread, and returns what came of each as MessagePack.
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
) -> PyResult<Bound<'py, PyBytes>> {
    let scenarios = &scenario.scenarios;
    let scenario = scenarios.get(place).ok_or_else(|| {
        Error::new_err(format!("place: found {place}; allowed: below {}", scenarios.len()))
    })?;
    let mut one = scenario.clone();
    one.contenders = Contender::list(contender).map_err(Error::new_err)?;
    (one.seed, one.repetitions) = (seed, count);
    let seeds = one.seeds();
    one.repetitions = 1;
    // One by one, so that it is known which one failed.
    let each = move |stop: &AtomicBool| {
        let controls = Controls::default();
        let mut kept: Vec<Kept> = Vec::new();
        for seed in seeds {
            one.seed = seed;
            let outcome = simulated(std::slice::from_ref(&one), &controls, stop);
            let outcome = outcome.map_err(|error| format!("seed {seed}: {error}"))?;
            for mut comparison in outcome.comparisons {
                let performance = comparison.performances.pop();
                kept.extend(comparison.plays.pop().map(|play| (performance, play)));
            }
        }
        // With names, since what is missing is left out. JSON would take twice the time.
        rmp_serde::to_vec_named(&kept).map_err(|error| format!("results as MessagePack: {error}"))
    };
    let packed = until_signal(py, 1, each)?.map_err(Error::new_err)?;
    Ok(PyBytes::new(py, &packed))
}

/// What came of each seed of a batch. It is given away once.
#[pyclass(frozen, module = "kirikae._kirikae")]
pub struct Results(Mutex<Vec<Kept>>);

#[pymethods]
impl Results {
    /// Of what `simulate_batch` returned.
    #[new]
    fn new(packed: &[u8], py: Python) -> PyResult<Results> {
        let kept = py.detach(|| rmp_serde::from_slice(packed));
        let kept: Vec<Kept> =
            kept.map_err(|error| Error::new_err(format!("results of a batch: {error}")))?;
        Ok(Results(Mutex::new(kept)))
    }
}

impl Results {
    /// Gives them away.
    pub fn take(&self) -> Vec<Kept> {
        std::mem::take(&mut self.0.lock().expect("nobody panics with it"))
    }
}
