//! Every contender of every scenario in virtual time, on all cores.

mod files;
mod packet_capture;
mod plot;
mod series;
mod trace;
mod trial;

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use kirikae_algorithms::Algorithm;

use crate::error::Error;
use crate::outcome::{Comparison, Outcome};
use crate::play::Play;
use crate::records::Records;
use crate::scenario::{Contender, Scenario};
use files::Plan;

pub use files::Files;
pub use trace::Format;

/// How a comparison is simulated.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory in which the run makes a directory of its own for its records; none: no records.
    pub output: Option<PathBuf>,
    /// What is written while it runs.
    pub files: Files,
    /// Every algorithm that may contend, with its parameters.
    pub algorithms: Vec<Algorithm>,
}

/// A contender of a scenario with one of its seeds.
struct Contest<'a> {
    scenario: &'a Scenario,
    contender: Contender,
    seed: u64,
}

impl Contest<'_> {
    /// Those of a scenario, contender by contender.
    fn all(scenario: &Scenario) -> impl Iterator<Item = Contest<'_>> {
        scenario.contenders.iter().flat_map(move |&contender| {
            scenario.seeds().map(move |seed| Contest { scenario, contender, seed })
        })
    }
}

/// Simulates every contender of every scenario and writes the records and files asked for.
///
/// # Errors
/// Records or files that cannot be written; files that are there already.
pub fn run(scenarios: &[Scenario], options: &Options) -> Result<Outcome, Error> {
    let simulations: Vec<_> = scenarios
        .iter()
        .flat_map(Contest::all)
        .map(|Contest { scenario, contender, seed }| {
            trial::simulation(scenario, contender, seed, &options.algorithms)
        })
        .collect();
    let bar = progress(simulations.len() as u64);
    let simulated = if options.files.is_none() {
        kirikae_sim::run_all(&simulations, |_| bar.inc(1))?
    } else {
        let plan = Plan::new(&options.files, scenarios)?;
        let done = |index: usize, watchers, outcome| {
            plan.close(index, watchers, &outcome)?;
            bar.inc(1);
            Ok::<_, Error>(outcome)
        };
        let open = |index: usize| plan.open(index, &simulations[index]);
        kirikae_sim::observe_all(&simulations, open, done)?
    };
    let mut simulated = simulated.into_iter();
    bar.finish_and_clear();

    let comparisons =
        scenarios.iter().map(|scenario| comparison(scenario, &mut simulated)).collect();
    let mut outcome = Outcome { comparisons, interrupted: false, records: None };
    if let Some(output) = &options.output {
        let records = Records::create(output, scenarios)?;
        outcome.records = Some(records.directory().to_owned());
        records.write(&outcome, &options.algorithms)?;
    }
    Ok(outcome)
}

/// Takes the outcomes of a scenario's contests from `simulated`.
fn comparison(
    scenario: &Scenario,
    simulated: &mut impl Iterator<Item = kirikae_sim::Outcome>,
) -> Comparison {
    let (mut measured, mut plays) = (Vec::new(), Vec::new());
    for (Contest { contender, seed, .. }, outcome) in Contest::all(scenario).zip(simulated) {
        if scenario.timed().is_some() {
            measured.push(trial::measured(contender, &outcome));
        }
        plays.push(Play::new(scenario, contender, seed, &outcome));
    }
    Comparison { plays, ..Comparison::new(scenario, &mut measured.into_iter(), false) }
}

/// How many are done, and the time left; only on a terminal.
fn progress(simulations: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len}, {eta} left");
    ProgressBar::new(simulations).with_style(style.expect("a valid template"))
}
