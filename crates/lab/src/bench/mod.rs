//! Every contender of every scenario at the same time, each on an emulated path of its own.

mod cgroup;
mod host;
mod progress;
mod switcher;
mod trial;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kirikae_agent::{Algorithms, Switch};
use kirikae_algorithms::Algorithm;
use kirikae_policy::Scope;

use crate::controls::Controls;
use crate::error::Error;
use crate::interruption::Interruption;
use crate::outcome::{Comparison, Measured, Outcome};
use crate::records::{Clock, Records};
use crate::scenario::{Contender, Scenario, stack};
use crate::workload::clock::now_ns;
pub(crate) use host::clean;
use progress::Progress;
use switcher::Switcher;
use trial::Trial;

/// Time for all senders to start and connect before the first burst is due.
const RUN_UP: Duration = Duration::from_secs(2);

/// How a comparison is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory in which the run makes a directory of its own for its records.
    pub output: PathBuf,
    /// What the contenders are made of.
    pub controls: Controls,
}

/// Runs every contender of every scenario side by side and writes the records. Ends early on
/// SIGINT, SIGTERM and SIGHUP, with what was measured until then. Leaves nothing behind on the
/// host but the records.
///
/// # Errors
/// Scenarios that only the simulator can play or that cannot run together, a host that lacks something, a path that the emulator
/// cannot hold, records that cannot be written, and anything that breaks on the way.
pub fn run(scenarios: &[Scenario], options: &Options) -> Result<Outcome, Error> {
    scenarios.iter().try_for_each(|scenario| scenario.bursts().map(drop))?;
    let scope = common_scope(scenarios, &options.controls)?;
    refuse_stacks(scenarios)?;
    refuse_contenders(scenarios)?;
    host::check(scenarios)?;
    clean()?;
    let interruption = Interruption::listen()?;

    let mut trials = Vec::new();
    for scenario in scenarios {
        for &contender in &scenario.contenders {
            trials.push(Trial::prepare(scenario, contender, trials.len() as u16)?);
        }
    }
    // Registered until the end of the run, by the agent where there is one.
    let candidates = scope.as_ref().map_or_else(Vec::new, |scope| scope.table.names());
    let algorithms = contending(scenarios, &options.controls.algorithms, &candidates);
    let (switcher, _registered) = match scope {
        Some(scope) => (Some(Switcher::start(scope, algorithms.clone())?), None),
        None if algorithms.is_empty() => (None, None),
        None => (None, Some(Algorithms::register(&algorithms)?)),
    };

    let records = Records::create(&options.output, scenarios, Clock::Real)?;
    let cgroup = switcher.as_ref().map(|switcher| switcher.cgroup().to_owned());
    let mut measured = run_all(trials, &cgroup.unwrap_or_default(), interruption.flag())?;
    let switches = switcher.map_or(Ok(Vec::new()), Switcher::finish)?;

    let interrupted = interruption.came();
    for measured in &mut measured {
        let own = |switch: &&Switch| switch.local.port() == measured.port;
        measured.switches = switches.iter().filter(own).cloned().collect();
    }
    let mut measured = measured.into_iter();
    let comparisons = scenarios
        .iter()
        .map(|scenario| Comparison::new(scenario, &mut measured, interrupted))
        .collect();
    let outcome =
        Outcome { comparisons, interrupted, records: Some(records.directory().to_owned()) };
    records.write(&outcome, &algorithms)?;
    Ok(outcome)
}

/// The real kernel's TCP is as it is.
fn refuse_stacks(scenarios: &[Scenario]) -> Result<(), Error> {
    match scenarios.iter().find(|scenario| scenario.stack != stack::usual()) {
        None => Ok(()),
        Some(scenario) => Err(Error::Incompatible(format!(
            "{}: stack: a profile for the simulator; allowed where the kernel's own TCP runs: no \
             [stack]",
            scenario.file.display(),
        ))),
    }
}

/// Some contenders have no program for the kernel.
fn refuse_contenders(scenarios: &[Scenario]) -> Result<(), Error> {
    let mut all = scenarios.iter().flat_map(|scenario| {
        scenario.contenders.iter().map(|contender| (&scenario.file, *contender))
    });
    match all.find(|(_, contender)| !contender.is_real()) {
        None => Ok(()),
        Some((file, contender)) => Err(Error::Incompatible(format!(
            "{}: bench.contenders: {contender} is played by the simulator alone, kirikae sim; allowed \
             on the real kernel: the others",
            file.display(),
        ))),
    }
}

/// Every algorithm that a contender is or may be switched to.
fn contending(
    scenarios: &[Scenario],
    algorithms: &[Algorithm],
    candidates: &[String],
) -> Vec<Algorithm> {
    let contends = |contender| scenarios.iter().any(|s| s.contenders.contains(&contender));
    let switched = contends(Contender::Kirikae);
    algorithms
        .iter()
        .copied()
        .filter(|algorithm| {
            let candidate = candidates.iter().any(|candidate| candidate == algorithm.name());
            contends(Contender::Fixed(algorithm.name())) || (switched && candidate)
        })
        .collect()
}

/// The scope of the one agent of the run; none where no scenario has kirikae as a contender.
fn common_scope(scenarios: &[Scenario], controls: &Controls) -> Result<Option<Scope>, Error> {
    let mut switched =
        scenarios.iter().filter(|scenario| scenario.contenders.contains(&Contender::Kirikae));
    let Some(first) = switched.next() else { return Ok(None) };
    let scope = controls.scope(first);
    match switched.find(|other| controls.scope(other) != scope) {
        None => Ok(Some(scope)),
        Some(other) => Err(Error::Incompatible(format!(
            "{} and {}: scope differs; allowed: the same in all scenarios of one run, which has one agent",
            first.file.display(),
            other.file.display(),
        ))),
    }
}

/// Runs all trials to their end, in their order. One that fails ends the others.
fn run_all(
    trials: Vec<Trial>,
    cgroup: &std::path::Path,
    stop: &AtomicBool,
) -> Result<Vec<Measured>, Error> {
    let paths = trials.len() as u32;
    let longest = trials.iter().map(Trial::duration).max().unwrap_or_default();
    let bursts = trials.iter().map(Trial::bursts).sum();
    let progress = Progress::new(bursts, RUN_UP + longest);
    let start_ns = now_ns() + RUN_UP.as_nanos() as u64;
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(trials)
            .map(|(place, trial): (u32, Trial)| {
                // Not all bursts at the same instant: the machine has few cores.
                let stagger = trial.interval() * place / paths;
                let start_ns = start_ns + stagger.as_nanos() as u64;
                let stop = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
                let (failed, progress) = (&failed, &progress);
                scope.spawn(move || {
                    trial
                        .run(start_ns, cgroup, stop, || progress.burst())
                        .inspect_err(|_| failed.store(true, Ordering::Relaxed))
                })
            })
            .collect();
        progress.follow(|| threads.iter().all(|thread| thread.is_finished()));
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
