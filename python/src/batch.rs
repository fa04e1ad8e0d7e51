//! A part of a plan that travels to whoever computes it, and what comes back.

use kirikae_results::contest::Kept;
use kirikae_scenario::Contender;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::Error;
use crate::simulate::until_signal;

/// Simulates `count` consecutive seeds of one contender on one thread, and returns what came of each as JSON.
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
    let mut kept: Vec<Kept> = Vec::new();
    // One by one, so that it is known which one failed.
    for seed in seeds {
        one.seed = seed;
        let outcome = until_signal(py, vec![one.clone()], 1)?;
        let outcome = outcome.map_err(|error| Error::new_err(format!("seed {seed}: {error}")))?;
        for mut comparison in outcome.comparisons {
            let performance = comparison.performances.pop();
            kept.extend(comparison.plays.pop().map(|play| (performance, play)));
        }
    }
    let told = |error: serde_json::Error| Error::new_err(format!("results as JSON: {error}"));
    let json = py.detach(|| serde_json::to_vec(&kept)).map_err(told)?;
    Ok(PyBytes::new(py, &json))
}

/// What came of each seed of a batch.
pub fn results(json: &[u8]) -> Result<Vec<Kept>, serde_json::Error> {
    serde_json::from_slice(json)
}
