//! Plays what the figures of a half need, each scenario once.

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::ensure;
use kirikae_results::outcome::{Comparison, Outcome};
use kirikae_scenario::{Contender, Controls, Scenario};
use kirikae_simlab::sim::{self, Files};

use crate::list::{Entry, Half};
use crate::measured::{Figure, figures};

/// Networks that the kernel's half emulates at the same time: so many two cores hold.
const AT_ONCE: NonZeroUsize = NonZeroUsize::new(32).unwrap();

/// Plays all entries, which are of this half, and measures their figures. What the kernel's half records goes to
/// `records`.
///
/// # Errors
/// What [`sim::run`] and [`kirikae_bench::run`] fail for; a run that was interrupted.
pub fn play(half: Half, entries: &[&Entry], records: &Path) -> anyhow::Result<Vec<Figure>> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut places: Vec<Vec<usize>> = Vec::new();
    for entry in entries {
        places.push(entry.scenarios.iter().map(|it| add(&mut scenarios, entry, it)).collect());
    }
    let Outcome { comparisons, interrupted, .. } = match half {
        Half::Simulated => sim::run(
            &scenarios,
            &sim::Options { output: None, files: Files::default(), controls: Controls::default() },
        )?,
        Half::Kernel => kirikae_bench::run(
            &scenarios,
            &kirikae_bench::Options {
                output: records.to_owned(),
                controls: Controls::default(),
                at_once: AT_ONCE,
                recording: None,
            },
        )?,
    };
    ensure!(!interrupted, "interrupted: there are no figures");
    let of_entry = |(entry, places): (&&Entry, &Vec<usize>)| {
        let own: Vec<&Comparison> = places.iter().map(|place| &comparisons[*place]).collect();
        figures(entry, &own)
    };
    Ok(entries.iter().zip(&places).flat_map(of_entry).collect())
}

/// The place of a scenario among those that are played, with all whom the entry needs.
fn add(scenarios: &mut Vec<Scenario>, entry: &Entry, scenario: &Scenario) -> usize {
    let same = |it: &Scenario| {
        (&it.file, &it.title, it.repetitions)
            == (&scenario.file, &scenario.title, scenario.repetitions)
    };
    let place = scenarios.iter().position(same).unwrap_or_else(|| {
        let mut scenario = scenario.clone();
        scenario.contenders.clear();
        scenarios.push(scenario);
        scenarios.len() - 1
    });
    let contenders: &mut Vec<Contender> = &mut scenarios[place].contenders;
    let missing = entry.played(scenario).into_iter().filter(|it| !contenders.contains(it));
    let missing: Vec<Contender> = missing.collect();
    contenders.extend(missing);
    place
}
