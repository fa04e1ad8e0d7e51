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
use crate::outcome::{Comparison, Measured, Outcome};
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

/// Simulates every contender of every scenario and writes the records and files asked for.
///
/// # Errors
/// Records or files that cannot be written; files that are there already.
pub fn run(scenarios: &[Scenario], options: &Options) -> Result<Outcome, Error> {
    let contests: Vec<(&Scenario, Contender)> = scenarios
        .iter()
        .flat_map(|scenario| {
            scenario.contenders.iter().map(move |contender| (scenario, *contender))
        })
        .collect();
    let simulations: Vec<_> = contests
        .iter()
        .map(|(scenario, contender)| trial::simulation(scenario, *contender, &options.algorithms))
        .collect();
    let bar = progress(simulations.len() as u64);
    let simulated = if options.files.is_none() {
        kirikae_sim::run_all(&simulations, |_| bar.inc(1))?
    } else {
        let plan = Plan::new(&options.files, &contests)?;
        let done = |index: usize, watchers, outcome| {
            plan.close(index, watchers, contests[index], &outcome)?;
            bar.inc(1);
            Ok::<_, Error>(outcome)
        };
        let open = |index: usize| plan.open(index, &simulations[index]);
        kirikae_sim::observe_all(&simulations, open, done)?
    };
    bar.finish_and_clear();

    let mut measured = contests
        .iter()
        .zip(simulated)
        .map(|((_, contender), outcome)| trial::measured(*contender, outcome))
        .collect::<Vec<Measured>>()
        .into_iter();
    let comparisons =
        scenarios.iter().map(|scenario| Comparison::new(scenario, &mut measured, false)).collect();
    let mut outcome = Outcome { comparisons, interrupted: false, records: None };
    if let Some(output) = &options.output {
        let records = Records::create(output, scenarios)?;
        outcome.records = Some(records.directory().to_owned());
        records.write(&outcome, &options.algorithms)?;
    }
    Ok(outcome)
}

/// How many are done, and the time left; only on a terminal.
fn progress(simulations: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len}, {eta} left");
    ProgressBar::new(simulations).with_style(style.expect("a valid template"))
}
