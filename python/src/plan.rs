//! What is to be simulated, and by whom: at once by threads of this process, or in batches by an engine.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kirikae_results::contest::{Contest, Kept, comparisons};
use kirikae_results::outcome::Comparison;
use kirikae_scenario::{Contender, Scenario};
use pyo3::prelude::*;
use pyo3::types::PyRange;
use rayon::prelude::*;

use crate::batch::Results;
use crate::errors::{Error, failed, refused};
use crate::out_of_tree;
use crate::outcome::Outcome;
use crate::simulate::{caught, count, simulated, until_signal};
use crate::table::Table;
use crate::trace::{Directory, traced};

/// One scenario, or several.
#[derive(FromPyObject)]
pub enum Given {
    One(Py<crate::scenario::Scenario>),
    Several(Vec<Py<crate::scenario::Scenario>>),
}

/// Scenarios, and who is simulated in them how often.
#[pyclass(frozen, module = "kirikae._kirikae")]
pub struct Plan {
    scenarios: Vec<Scenario>,
    /// Of each, what said it, and its place among those that this says.
    origins: Vec<(Py<crate::scenario::Scenario>, usize)>,
}

#[pymethods]
impl Plan {
    /// The arguments are those of `kirikae.simulate`.
    #[new]
    #[pyo3(signature = (scenario, *, repetitions = None, seed = None, seeds = None, contenders = None))]
    fn new(
        scenario: Given,
        repetitions: Option<i128>,
        seed: Option<i128>,
        seeds: Option<Bound<PyAny>>,
        contenders: Option<Names>,
        py: Python,
    ) -> PyResult<Plan> {
        let contenders = contenders
            .map(Names::contenders)
            .transpose()
            .map_err(|why| Error::new_err(format!("contenders: {why}")))?;
        if seeds.is_some() && (seed.is_some() || repetitions.is_some()) {
            const TOLD: &str =
                "seeds: found seed or repetitions beside it; allowed: seeds alone, or the others";
            return Err(Error::new_err(TOLD));
        }
        let (seed, repetitions) = match seeds.as_ref().map(bounds).transpose()? {
            Some((first, count)) => (Some(first), Some(count)),
            None => (seed, repetitions),
        };
        let seed = seed.map(|seed| within("seed", seed, 0..=u64::MAX)).transpose()?;
        let count = |count| within("repetitions", count, 1..=10_000);
        let repetitions = repetitions.map(count).transpose()?;
        let given = match scenario {
            Given::One(one) => vec![one],
            Given::Several(all) => all,
        };
        let mut plan = Plan { scenarios: Vec::new(), origins: Vec::new() };
        let mut titles = BTreeSet::new();
        for origin in given {
            for (place, scenario) in origin.get().scenarios.iter().enumerate() {
                scenario.in_simulator().map_err(|refusal| refused(py, &refusal))?;
                let title = &scenario.title;
                if !titles.insert(title.clone()) {
                    let told = format!("two scenarios are called {title:?}");
                    return Err(Error::new_err(told + "; allowed: titles that differ"));
                }
                let mut scenario = scenario.clone();
                scenario.seed = seed.unwrap_or(scenario.seed);
                scenario.repetitions = repetitions.map_or(scenario.repetitions, |it| it as u32);
                if let Some(contenders) = &contenders {
                    scenario.contenders.clone_from(contenders);
                }
                plan.scenarios.push(scenario);
                plan.origins.push((origin.clone_ref(py), place));
            }
        }
        if plan.scenarios.is_empty() {
            return Err(Error::new_err("scenario: found none; allowed: at least one"));
        }
        Ok(plan)
    }

    /// Simulates everything on so many threads of this process. Meanwhile `progress` is told again and again how many
    /// simulations are done.
    #[pyo3(signature = (threads = None, *, progress))]
    fn simulate(
        &self,
        threads: Option<i128>,
        progress: &Bound<PyAny>,
        py: Python,
    ) -> PyResult<Outcome> {
        let threads = count(threads)?;
        let scenarios = self.scenarios.clone();
        let done = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&done);
        let compute = move |stop: &AtomicBool| {
            let controls = out_of_tree::controls();
            let simulate = |contest| {
                let kept = simulated(contest, &controls, stop);
                counted.fetch_add(1, Ordering::Relaxed);
                kept.map(Some)
            };
            // One at a time: they differ in length.
            let contests = Contest::all(&scenarios).into_par_iter().with_max_len(1);
            let kept: Result<Vec<Option<Kept>>, _> = contests.map(simulate).collect();
            kept.map(|kept| comparisons(&scenarios, kept))
        };
        let told = |_: Python| progress.call1((done.load(Ordering::Relaxed),)).map(drop);
        let comparisons = until_signal(py, threads, compute, told)?;
        let comparisons = comparisons.map_err(|error| failed(py, &error))?;
        Ok(outcome(comparisons, false))
    }

    /// Simulates everything on so many threads, and returns what the senders knew meanwhile.
    #[pyo3(signature = (threads = None))]
    fn trace(&self, threads: Option<i128>, py: Python) -> PyResult<Table> {
        let scenarios = self.scenarios.clone();
        let directory = Directory::new().map_err(|error| failed(py, &error))?;
        let path = directory.path();
        let trace = move |_: &_| caught(|| traced(&scenarios, &out_of_tree::controls(), &path));
        let rows = until_signal(py, count(threads)?, trace, |_| Ok(()))?;
        rows.map(Table::made).map_err(|error| failed(py, &error))
    }

    /// What is simulated, scenario by scenario and contender by contender: what said the scenario, its place in that,
    /// its title, the contender, the first seed, and the number of seeds.
    #[getter]
    fn series(&self, py: Python) -> Vec<Series> {
        let of_scenario = |(scenario, (origin, place)): (&Scenario, &(Py<_>, usize))| {
            let Scenario { title, contenders, seed, repetitions, .. } = scenario;
            let series = |contender: &Contender| {
                let origin = origin.clone_ref(py);
                (origin, *place, title.clone(), contender.name(), *seed, *repetitions)
            };
            contenders.iter().map(series).collect::<Vec<_>>()
        };
        self.scenarios.iter().zip(&self.origins).flat_map(of_scenario).collect()
    }

    /// What came of everything, of results that each belong to the series of a number, from 0, and are given away. Of a
    /// seed that is there twice the last counts; those that are missing were not simulated.
    fn outcome(&self, results: Vec<(usize, Py<Results>)>) -> Outcome {
        let of_scenario = |it: &Scenario| vec![(it.seed, it.repetitions); it.contenders.len()];
        let series: Vec<(u64, u32)> = self.scenarios.iter().flat_map(of_scenario).collect();
        let none = |&(_, count): &(u64, u32)| (0..count).map(|_| None).collect();
        let mut all: Vec<Vec<Option<Kept>>> = series.iter().map(none).collect();
        for (number, results) in results {
            for kept in results.get().take() {
                // As where everything is simulated at once, 0 follows the last seed that there is.
                let place = kept.1.seed.wrapping_sub(series[number].0);
                if let Some(place) = all[number].get_mut(place as usize) {
                    *place = Some(kept);
                }
            }
        }
        let interrupted = all.iter().flatten().any(Option::is_none);
        outcome(comparisons(&self.scenarios, all.into_iter().flatten()), interrupted)
    }
}

/// What came of comparisons, `interrupted` if something is missing.
fn outcome(comparisons: Vec<Comparison>, interrupted: bool) -> Outcome {
    let outcome = kirikae_results::outcome::Outcome { comparisons, interrupted, records: None };
    Outcome(Arc::new(outcome))
}

type Series = (Py<crate::scenario::Scenario>, usize, String, &'static str, u64, u32);

/// An argument's value, if it is allowed.
pub fn within(name: &str, found: i128, allowed: RangeInclusive<u64>) -> PyResult<u64> {
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

/// Names: a list of them, or a text, of contenders with commas.
#[derive(FromPyObject)]
pub enum Names {
    Text(String),
    List(Vec<String>),
}

impl Names {
    /// Those who are called so, ours or loaded; the error says what is allowed.
    pub fn contenders(self) -> Result<Vec<Contender>, String> {
        let text = match self {
            Names::Text(text) => text,
            Names::List(names) => names.join(","),
        };
        if !text.split(',').any(|name| out_of_tree::contender(name).is_some()) {
            return Contender::list(&text);
        }
        let mut chosen = Vec::new();
        for name in text.split(',') {
            let loaded = out_of_tree::contender(name).map(|it| Ok(vec![it]));
            let found = loaded.unwrap_or_else(|| Contender::list(name))?;
            if let Some(twice) = found.iter().find(|it| chosen.contains(*it)) {
                return Err(format!("found {:?} twice; allowed: each once", twice.name()));
            }
            chosen.extend(found);
        }
        Ok(chosen)
    }
}
