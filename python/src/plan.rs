//! What is to be simulated, and by whom: at once by threads of this process, or in batches by an engine.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kirikae_results::contest::comparisons;
use kirikae_scenario::{Contender, Controls, Scenario};
use pyo3::prelude::*;
use pyo3::types::PyRange;

use crate::batch::Results;
use crate::errors::{Error, failed, refused};
use crate::outcome::Outcome;
use crate::simulate::{count, simulated, until_signal};

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

    /// Simulates everything on so many threads of this process.
    #[pyo3(signature = (threads = None))]
    fn simulate(&self, threads: Option<i128>, py: Python) -> PyResult<Outcome> {
        let threads = count(threads)?;
        let scenarios = self.scenarios.clone();
        let compute = move |stop: &AtomicBool| simulated(&scenarios, &Controls::default(), stop);
        let outcome = until_signal(py, threads, compute)?;
        let outcome = outcome.map_err(|error| failed(py, &error))?;
        Ok(Outcome(Arc::new(outcome)))
    }

    /// For each scenario, in order, what said it, its place in that, its title, contenders, first seed, and
    /// number of repetitions.
    #[getter]
    fn parts(&self, py: Python) -> Vec<Part> {
        let part = |(scenario, (origin, place)): (&Scenario, &(Py<_>, usize))| {
            let contenders = scenario.contenders.iter().map(|contender| contender.name());
            let Scenario { title, seed, repetitions, .. } = scenario;
            let origin = origin.clone_ref(py);
            (origin, *place, title.clone(), contenders.collect(), *seed, *repetitions)
        };
        self.scenarios.iter().zip(&self.origins).map(part).collect()
    }

    /// What came of everything, of the results of its batches in order: scenario by scenario, contender by
    /// contender, seed by seed. They are given away.
    fn outcome(&self, results: Vec<Py<Results>>) -> Outcome {
        let kept = results.iter().flat_map(|results| results.get().take()).map(Some);
        Outcome(Arc::new(kirikae_results::outcome::Outcome {
            comparisons: comparisons(&self.scenarios, kept),
            interrupted: false,
            records: None,
        }))
    }
}

type Part = (Py<crate::scenario::Scenario>, usize, String, Vec<&'static str>, u64, u32);

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
    /// Those who are called so; the error says what is allowed.
    pub fn contenders(self) -> Result<Vec<Contender>, String> {
        match self {
            Names::Text(text) => Contender::list(&text),
            Names::List(names) => Contender::list(&names.join(",")),
        }
    }
}
