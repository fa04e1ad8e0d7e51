//! A contest is one contender of a scenario with one seed: the unit that is played, simulated or real.

use kirikae_scenario::{Contender, Scenario};

use crate::outcome::{Comparison, Performance};
use crate::play::{Course, Play};

/// A contender of a scenario with one of its seeds.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    /// The scenario that is played.
    pub scenario: &'a Scenario,
    /// The contender that plays it.
    pub contender: Contender,
    /// Seed of every random stream.
    pub seed: u64,
}

/// The results of a contest: write by write if it is compared so, and flow by flow.
pub type Kept = (Option<Performance>, Play);

impl<'a> Contest<'a> {
    /// The contests of a scenario: contender by contender, seed by seed.
    pub fn of(scenario: &'a Scenario) -> impl Iterator<Item = Contest<'a>> {
        scenario.contenders.iter().flat_map(move |&contender| {
            scenario.seeds().map(move |seed| Contest { scenario, contender, seed })
        })
    }

    /// The contests of all scenarios, scenario by scenario.
    pub fn all(scenarios: &'a [Scenario]) -> Vec<Contest<'a>> {
        scenarios.iter().flat_map(Contest::of).collect()
    }

    /// The results of its course. If it was interrupted, nothing counts as missing.
    pub fn kept(&self, course: &Course, interrupted: bool) -> Kept {
        let timed = self.scenario.timed();
        let performance = timed.map(|_| Performance::new(self, course, interrupted));
        (performance, Play::new(self, course))
    }
}

/// The comparisons of all scenarios. `kept` is in the order of [`Contest::all`], without those that were not
/// played.
pub fn comparisons(
    scenarios: &[Scenario],
    kept: impl IntoIterator<Item = Option<Kept>>,
) -> Vec<Comparison> {
    let mut kept = kept.into_iter();
    let comparison = |scenario: &Scenario| {
        let own = kept.by_ref().take(Contest::of(scenario).count());
        let (performances, plays): (Vec<_>, Vec<_>) = own.flatten().unzip();
        let performances = performances.into_iter().flatten().collect();
        Comparison { scenario: scenario.clone(), performances, plays }
    };
    scenarios.iter().map(comparison).collect()
}
