//! Simulates while Python goes on, and hears of Ctrl-C.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use kirikae_scenario::{Contender, Controls, Scenario};
use kirikae_simlab::sim;
use pyo3::prelude::*;
use pyo3::types::PyRange;
use rayon::ThreadPoolBuilder;

use crate::errors::{Error, failed};
use crate::outcome::Outcome;

/// How often signals are looked for.
const SIGNALS: Duration = Duration::from_millis(50);

/// One scenario, or several.
#[derive(FromPyObject)]
pub enum Given<'py> {
    One(PyRef<'py, crate::scenario::Scenario>),
    Several(Vec<PyRef<'py, crate::scenario::Scenario>>),
}

/// Simulates every contender of every scenario, and returns their Outcome.
///
/// `scenario` is a Scenario or a list of them. `repetitions` (1 to 10000) is how often each contender is
/// simulated, each time with the next seed; `seed` is the first (0 or above). `seeds` says both, as a range
/// such as range(1, 11). `contenders` is a list of names, or "all". Without them it is what the scenarios say.
/// `threads` (1 to 1024) is how many simulations run at a time; without it as many as RAYON_NUM_THREADS says,
/// or cores. Ctrl-C ends it; simulations that run already are not waited for.
///
/// Raises ScenarioError if a scenario cannot be simulated, and Error for anything else.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, repetitions = None, seed = None, seeds = None, contenders = None, threads = None
))]
pub fn simulate(
    scenario: Given,
    repetitions: Option<i128>,
    seed: Option<i128>,
    seeds: Option<Bound<PyAny>>,
    contenders: Option<Names>,
    threads: Option<i128>,
    py: Python,
) -> PyResult<Outcome> {
    let contenders = contenders
        .map(Names::contenders)
        .transpose()
        .map_err(|why| Error::new_err(format!("contenders: {why}")))?;
    if seeds.is_some() && (seed.is_some() || repetitions.is_some()) {
        let told =
            "seeds: found seed or repetitions beside it; allowed: seeds alone, or the others";
        return Err(Error::new_err(told));
    }
    let (seed, repetitions) = match seeds.as_ref().map(bounds).transpose()? {
        Some((first, count)) => (Some(first), Some(count)),
        None => (seed, repetitions),
    };
    let seed = seed.map(|seed| within("seed", seed, 0..=u64::MAX)).transpose()?;
    let repetitions =
        repetitions.map(|count| within("repetitions", count, 1..=10_000)).transpose()?;
    let threads = threads.map(|count| within("threads", count, 1..=1024)).transpose()?;
    let mut scenarios: Vec<Scenario> = match scenario {
        Given::One(one) => one.scenarios.clone(),
        Given::Several(all) => all.iter().flat_map(|one| one.scenarios.clone()).collect(),
    };
    for scenario in &mut scenarios {
        scenario.repetitions = repetitions.map_or(scenario.repetitions, |count| count as u32);
        scenario.seed = seed.unwrap_or(scenario.seed);
        if let Some(contenders) = &contenders {
            scenario.contenders.clone_from(contenders);
        }
    }
    let mut titles = BTreeSet::new();
    if let Some(twice) = scenarios.iter().find(|it| !titles.insert(&it.title)) {
        let title = &twice.title;
        return Err(Error::new_err(format!(
            "two scenarios are called {title:?}; allowed: titles that differ"
        )));
    }
    let outcome = until_signal(py, scenarios, threads.unwrap_or_default() as usize)?;
    let outcome = outcome.map_err(|error| failed(py, &error))?;
    Ok(Outcome(Arc::new(outcome)))
}

/// An argument's value, if it is allowed.
fn within(name: &str, found: i128, allowed: RangeInclusive<u64>) -> PyResult<u64> {
    let value = u64::try_from(found).ok().filter(|value| allowed.contains(value));
    value.ok_or_else(|| {
        let (least, most) = allowed.into_inner();
        Error::new_err(format!("{name}: found {found}; allowed: {least} to {most}"))
    })
}

/// The first of seeds, and how many there are.
fn bounds(seeds: &Bound<PyAny>) -> PyResult<(i128, i128)> {
    let of = |range: &Bound<PyRange>| {
        let part = |name: &str| range.getattr(name)?.extract::<i128>();
        PyResult::Ok((part("start")?, part("stop")?, part("step")?))
    };
    match seeds.cast::<PyRange>().ok().map(of).transpose()? {
        Some((start, stop, 1)) if start < stop => Ok((start, stop - start)),
        _ => Err(Error::new_err(format!(
            "seeds: found {}; allowed: a range of consecutive numbers, such as range(1, 11)",
            seeds.repr()?
        ))),
    }
}

/// The names of contenders: a list of them, or a text with commas.
#[derive(FromPyObject)]
pub enum Names {
    Text(String),
    List(Vec<String>),
}

impl Names {
    fn contenders(self) -> Result<Vec<Contender>, String> {
        match self {
            Names::Text(text) => Contender::list(&text),
            Names::List(names) => Contender::list(&names.join(",")),
        }
    }
}

type Simulated = Result<kirikae_results::outcome::Outcome, kirikae_results::Error>;

/// Simulates on so many other threads, 0 for the preset number, so that a signal is heard at once. After one, no
/// more simulations begin.
fn until_signal(py: Python, scenarios: Vec<Scenario>, threads: usize) -> PyResult<Simulated> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::new_err(format!("starting threads: {error}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    let (done, mut outcome) = channel();
    let thread = std::thread::spawn({
        let stop = Arc::clone(&stop);
        let simulated = move || sim::simulate(&scenarios, &Controls::default(), &stop);
        // Nobody listens any more after a signal.
        move || drop(done.send(pool.install(simulated)))
    });
    loop {
        let outcome = &mut outcome;
        match py.detach(move || outcome.recv_timeout(SIGNALS)) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().expect_err("it ended without an outcome");
                std::panic::resume_unwind(panic);
            }
        }
    }
}
