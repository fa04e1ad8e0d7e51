//! Simulates while Python goes on, and hears of Ctrl-C.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use kirikae_results::contest::{Contest, Kept, comparisons};
use kirikae_scenario::{Contender, Controls, Scenario};
use kirikae_simlab::sim::{self, Files, Options};
use pyo3::prelude::*;
use rayon::prelude::*;

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

/// Simulates every contender of every scenario on all cores, and returns their Outcome.
///
/// `scenario` is a Scenario or a list of them. `repetitions` (1 to 10000) is how often each contender is
/// simulated, each time with the next seed; `seed` is the first (0 or above); `contenders` is a list of
/// names, or "all". Without them it is what the scenarios say. Threads: as many as RAYON_NUM_THREADS
/// says, or cores. Ctrl-C ends it; simulations that run already are not waited for.
///
/// Raises ScenarioError if a scenario cannot be simulated, and Error for anything else.
#[pyfunction]
#[pyo3(signature = (scenario, *, repetitions = None, seed = None, contenders = None))]
pub fn simulate(
    scenario: Given,
    repetitions: Option<u32>,
    seed: Option<u64>,
    contenders: Option<Names>,
    py: Python,
) -> PyResult<Outcome> {
    let contenders = contenders
        .map(Names::contenders)
        .transpose()
        .map_err(|why| Error::new_err(format!("contenders: {why}")))?;
    if let Some(repetitions) = repetitions.filter(|count| !(1..=10_000).contains(count)) {
        return Err(Error::new_err(format!("repetitions: {repetitions}; allowed: 1 to 10000")));
    }
    let mut scenarios: Vec<Scenario> = match scenario {
        Given::One(one) => one.scenarios.clone(),
        Given::Several(all) => all.iter().flat_map(|one| one.scenarios.clone()).collect(),
    };
    for scenario in &mut scenarios {
        scenario.repetitions = repetitions.unwrap_or(scenario.repetitions);
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
    let scenarios = Arc::new(scenarios);
    let outcome = until_signal(py, Arc::clone(&scenarios))?;
    let outcome = outcome.map_err(|error| failed(py, &error))?;
    Ok(Outcome::new(scenarios, outcome))
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

/// Simulates on other threads, so that a signal is heard at once. After one, no more simulations begin.
fn until_signal(py: Python, scenarios: Arc<Vec<Scenario>>) -> PyResult<Simulated> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let (done, mut outcome) = channel();
    let thread = std::thread::spawn({
        let interrupted = Arc::clone(&interrupted);
        // Nobody listens any more after a signal.
        move || drop(done.send(all(&scenarios, &interrupted)))
    });
    loop {
        let outcome = &mut outcome;
        match py.detach(move || outcome.recv_timeout(SIGNALS)) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| {
                interrupted.store(true, Ordering::Relaxed);
            })?,
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().expect_err("it ended without an outcome");
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// Every contest by itself, as `kirikae-lab sim` simulates it.
fn all(scenarios: &[Scenario], interrupted: &AtomicBool) -> Simulated {
    scenarios.iter().try_for_each(Scenario::in_simulator)?;
    let contests = Contest::all(scenarios);
    let kept = contests.par_iter().with_max_len(1).map(|contest| {
        if interrupted.load(Ordering::Relaxed) {
            return Err(kirikae_results::Error::Interrupted("nothing is kept".into()));
        }
        one(contest)
    });
    let kept: Vec<Kept> = kept.collect::<Result<_, _>>()?;
    Ok(kirikae_results::outcome::Outcome {
        comparisons: comparisons(scenarios, kept.into_iter().map(Some)),
        interrupted: false,
        records: None,
    })
}

fn one(contest: &Contest) -> Result<Kept, kirikae_results::Error> {
    let mut scenario = contest.scenario.clone();
    scenario.contenders = vec![contest.contender];
    scenario.seed = contest.seed;
    scenario.repetitions = 1;
    let mut outcome = sim::run(&[scenario], &options())?;
    let mut comparison = outcome.comparisons.pop().expect("one scenario");
    Ok((comparison.performances.pop(), comparison.plays.pop().expect("one contest")))
}

/// What `kirikae-lab sim` does without options.
pub fn options() -> Options {
    Options { output: None, files: Files::default(), controls: Controls::default() }
}
