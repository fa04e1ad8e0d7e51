//! `kirikae.simulate`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use kirikae_results::Error as LabError;
use kirikae_scenario::{Contender, Controls, Scenario as Parsed};
use kirikae_settings::section::Source;
use kirikae_simlab::sim;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyRange, PyTuple};
use rayon::ThreadPoolBuilder;

use crate::error::{Error, failed, refused};
use crate::outcome::Outcome;
use crate::scenario::Scenario;

/// How often Python is asked whether a signal has come.
const ASK: Duration = Duration::from_millis(50);
/// Most repetitions, as in scenario files.
const MOST: usize = 10_000;

/// Simulates every contender of every scenario with the same packets lost, as `kirikae-lab sim` does; the
/// same scenarios, seeds and version give the same figures on every machine.
///
/// scenario: a Scenario, the path of a file, a dictionary, or a list of these.
/// repetitions: how often each contender is simulated, each time with the next seed, instead of what the
///     scenarios say; 1 to 10,000.
/// seeds: these seeds instead, a range such as range(1, 11).
/// contenders: who is compared instead of whom the scenarios name; "all" for all.
/// threads: how many simulations run at a time; as many as there are cores if it is not given.
///
/// The interpreter is free while it computes. Ctrl-C ends it at once; the simulations that were running end
/// by themselves. Raises ScenarioError or Error.
#[pyfunction]
#[pyo3(signature = (scenario, *, repetitions=None, seeds=None, contenders=None, threads=None))]
pub fn simulate(
    py: Python,
    scenario: &Bound<PyAny>,
    repetitions: Option<usize>,
    seeds: Option<&Bound<PyAny>>,
    contenders: Option<&Bound<PyAny>>,
    threads: Option<usize>,
) -> PyResult<Outcome> {
    let mut sources = Vec::new();
    sources_of(scenario, &mut sources)?;
    if sources.is_empty() {
        return Err(Error::new_err(
            "scenario: found an empty list; allowed: at least one scenario",
        ));
    }
    let mut scenarios = Parsed::of(sources.into_iter().map(Ok)).map_err(|error| refused(&error))?;
    let seeds = seeds.map(self::seeds).transpose()?;
    if repetitions.is_some() && seeds.is_some() {
        return Err(Error::new_err("seeds: found repetitions, too; allowed: one of the two"));
    }
    let repetitions = repetitions.map(|count| self::count("repetitions", count)).transpose()?;
    let contenders = contenders.map(self::contenders).transpose()?;
    if threads == Some(0) {
        return Err(Error::new_err("threads: found 0; allowed: a whole number from 1"));
    }
    for scenario in &mut scenarios {
        if let Some((first, count)) = seeds {
            (scenario.seed, scenario.repetitions) = (first, count);
        }
        scenario.repetitions = repetitions.unwrap_or(scenario.repetitions);
        if let Some(contenders) = &contenders {
            scenario.contenders.clone_from(contenders);
        }
    }
    let controls = Controls::default();
    let algorithms = controls.algorithms.clone();
    let outcome =
        interruptible(py, threads, move |stop| sim::simulate(&scenarios, &controls, stop))?;
    Ok(Outcome::new(outcome, algorithms))
}

/// Computes it on threads that are not Python's, and asks meanwhile for signals.
fn interruptible<T: Send + 'static>(
    py: Python,
    threads: Option<usize>,
    compute: impl FnOnce(&AtomicBool) -> Result<T, LabError> + Send + 'static,
) -> PyResult<T> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or_default()).build();
    let pool = pool.map_err(|error| Error::new_err(format!("starting threads: {error}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    let (send, receive) = mpsc::channel();
    let stopped = Arc::clone(&stop);
    // Nobody listens any more after an interruption.
    pool.spawn(move || drop(send.send(compute(&stopped))));
    let receive = std::sync::Mutex::new(receive);
    loop {
        let next = || receive.lock().expect("nobody panics with it").recv_timeout(ASK);
        match py.detach(next) {
            Ok(computed) => return computed.map_err(|error| failed(&error)),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new_err("the simulation ended by a panic, told above"));
            }
        }
    }
}

/// The texts of what is a Scenario, a path, a dictionary, or a list of these.
fn sources_of(scenario: &Bound<PyAny>, sources: &mut Vec<Source>) -> PyResult<()> {
    const ALLOWED: &str =
        "a Scenario, the path of a scenario file, a dictionary, or a list of these";
    if let Ok(scenario) = scenario.cast::<Scenario>() {
        sources.push(scenario.get().source());
    } else if scenario.is_instance_of::<PyDict>() {
        let scenario = scenario.py().get_type::<Scenario>().call1((scenario,))?;
        return sources_of(&scenario, sources);
    } else if scenario.is_instance_of::<PyList>() || scenario.is_instance_of::<PyTuple>() {
        for each in scenario.try_iter()? {
            sources_of(&each?, sources)?;
        }
    } else if let Ok(path) = scenario.extract::<PathBuf>() {
        sources.push(Parsed::source(&path).map_err(|refusal| refused(&refusal))?);
    } else {
        let found = scenario.repr()?;
        return Err(Error::new_err(format!("scenario: found {found}; allowed: {ALLOWED}")));
    }
    Ok(())
}

/// The first seed, and how many there are.
fn seeds(seeds: &Bound<PyAny>) -> PyResult<(u64, u32)> {
    let range = seeds.cast::<PyRange>().ok().filter(|range| range.len().is_ok_and(|n| n > 0));
    let first = range.and_then(|range| range.get_item(0).ok()?.extract::<u64>().ok());
    let step = range.and_then(|range| range.getattr("step").ok()?.extract::<i64>().ok());
    let (Some(first), Some(1)) = (first, step) else {
        let found = seeds.repr()?;
        return Err(Error::new_err(format!(
            "seeds: found {found}; allowed: a range that is not empty, of step 1, such as range(1, 11)"
        )));
    };
    Ok((first, count("seeds", seeds.len()?)?))
}

fn count(name: &str, count: usize) -> PyResult<u32> {
    if !(1..=MOST).contains(&count) {
        let allowed = format!("1 to {MOST} of them");
        return Err(Error::new_err(format!("{name}: found {count}; allowed: {allowed}")));
    }
    Ok(count as u32)
}

/// `"all"`, or a list of names.
fn contenders(given: &Bound<PyAny>) -> PyResult<Vec<Contender>> {
    let list = match given.extract::<String>() {
        Ok(text) => text,
        Err(_) => given.extract::<Vec<String>>()?.join(","),
    };
    Contender::list(&list).map_err(|why| Error::new_err(format!("contenders: {why}")))
}
