//! Every contender of every scenario in virtual time, on all cores.

mod course;
mod files;
mod interval;
mod packet_capture;
mod plot;
mod series;
mod simulation;
mod trace;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use kirikae_results::Error;
use kirikae_results::contest::{Contest, comparisons};
use kirikae_results::outcome::Outcome;
use kirikae_results::records::{Clock, Records};
use kirikae_scenario::{Controls, Scenario};
use kirikae_sim::{Observer, Simulation};

pub use files::Files;
use files::Plan;
pub use interval::Interval;
pub use simulation::simulation;
pub use trace::Format;

/// How a comparison is simulated.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory in which the run makes a directory of its own for its records; none: no records.
    pub output: Option<PathBuf>,
    /// What is written while it runs.
    pub files: Files,
    /// What the contenders are made of.
    pub controls: Controls,
}

/// Simulates every contender of every scenario and writes the records and files asked for. Without
/// records, dropped packets are counted and not listed.
///
/// # Errors
/// Records or files that cannot be written; files that are there already.
pub fn run(scenarios: &[Scenario], options: &Options) -> Result<Outcome, Error> {
    scenarios.iter().try_for_each(Scenario::in_simulator)?;
    // What cannot be written is told before anything is simulated.
    let plan = Plan::new(&options.files, scenarios)?;
    let create = |output: &Path| Records::create(output, scenarios, Clock::Virtual);
    let records = options.output.as_deref().map(create).transpose()?;
    let conduct =
        Conduct { bar: progress(), stop: &AtomicBool::new(false), keep_drops: records.is_some() };
    let mut outcome = play(scenarios, &options.controls, &plan, &conduct)?;
    outcome.records = records.as_ref().map(|records| records.directory().to_owned());
    records.map_or(Ok(()), |records| records.write(&outcome, &options.controls.algorithms))?;
    Ok(outcome)
}

/// Simulates every contender of every scenario with all that records tell, and neither writes nor shows
/// anything. Once `stop` is true, no simulation begins.
///
/// # Errors
/// A scenario that cannot be simulated; [`Error::Interrupted`] if it was stopped before all had begun.
pub fn simulate(
    scenarios: &[Scenario],
    controls: &Controls,
    stop: &AtomicBool,
) -> Result<Outcome, Error> {
    scenarios.iter().try_for_each(Scenario::in_simulator)?;
    let conduct = Conduct { bar: ProgressBar::hidden(), stop, keep_drops: true };
    let files = Files::default();
    play(scenarios, controls, &Plan::new(&files, scenarios)?, &conduct)
}

/// How simulations are gone through.
struct Conduct<'a> {
    /// Shows how many are done.
    bar: ProgressBar,
    /// No more begin once it is true.
    stop: &'a AtomicBool,
    /// Whether packets that were dropped are listed, which only the records tell.
    keep_drops: bool,
}

fn play(
    scenarios: &[Scenario],
    controls: &Controls,
    plan: &Plan,
    conduct: &Conduct,
) -> Result<Outcome, Error> {
    let contests = Contest::all(scenarios);
    conduct.bar.set_length(contests.len() as u64);
    let simulation = |index: usize| {
        let Contest { scenario, contender, seed } = contests[index];
        simulation::simulation(scenario, contender, seed, controls)
    };
    let interval = |index: usize, simulation: &Simulation| {
        if conduct.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted("nothing is kept".into()));
        }
        let time = contests[index].scenario.measured.clone();
        Ok(time.map(|time| Interval::new(time, simulation.flows.len())))
    };
    let result = |index: usize, interval: Option<Interval>, outcome: kirikae_sim::Outcome| {
        conduct.bar.inc(1);
        let contest = contests[index];
        let course = course::course(contest, outcome, interval.as_ref());
        let (mut performance, play) = contest.kept(&course, false);
        if let Some(performance) = performance.as_mut().filter(|_| !conduct.keep_drops) {
            performance.report.drops = Vec::new();
        }
        Ok::<_, Error>((performance, play))
    };
    let results = if plan.is_empty() {
        kirikae_sim::observe_all(contests.len(), simulation, interval, result)?
    } else {
        let open = |index, simulation: &_| {
            Ok((plan.open(index, simulation)?, interval(index, simulation)?))
        };
        let done = |index, (watchers, interval), outcome| {
            plan.close(index, watchers, &outcome)?;
            result(index, interval, outcome)
        };
        kirikae_sim::observe_all(contests.len(), simulation, open, done)?
    };
    conduct.bar.finish_and_clear();
    Ok(Outcome {
        comparisons: comparisons(scenarios, results.into_iter().map(Some)),
        interrupted: false,
        records: None,
    })
}

/// Plays every contender of every scenario before an observer of its own, and gives what `result` makes of
/// each and its outcome, in order: scenario by scenario, contender by contender, seed by seed.
///
/// # Errors
/// A scenario that cannot be simulated.
pub fn watch<O: Observer + Send, R: Send>(
    scenarios: &[Scenario],
    controls: &Controls,
    observer: impl Fn() -> O + Sync,
    result: impl Fn(O, kirikae_sim::Outcome) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let contests = Contest::all(scenarios);
    let simulation = |index: usize| {
        let Contest { scenario, contender, seed } = contests[index];
        simulation::simulation(scenario, contender, seed, controls)
    };
    let open = |_, _: &_| Ok::<_, Error>(observer());
    let done = |_, observer, outcome| Ok(result(observer, outcome));
    kirikae_sim::observe_all(contests.len(), simulation, open, done)
}

/// How many are done, and the time left; only on a terminal.
fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len}, {eta} left");
    ProgressBar::no_length().with_style(style.expect("a valid template"))
}
