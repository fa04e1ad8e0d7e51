//! Plays every contender of every scenario on the real kernel, each on an emulated network of its own.

mod cgroup;
pub mod emulate;
mod error;
mod host;
pub mod lockstep;
mod network;
pub mod player;
mod player_process;
mod progress;
mod r_tcp;
mod staged;
mod switched;
mod switcher;
mod waves;

use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use kirikae_agent::Algorithms;
use kirikae_algorithms::Algorithm;
use kirikae_results::contest::{Contest, Kept, comparisons};
use kirikae_results::interruption::Interruption;
use kirikae_results::outcome::Outcome;
use kirikae_results::records::{Clock, Records};
use kirikae_scenario::{Contender, Controls, FlowGroup, Scenario};
use kirikae_vocabulary::Switch;

use crate::lockstep::Recording;
pub use error::Error;
pub(crate) use host::clean;
use staged::Played;
use switched::Switched;
use switcher::Switcher;
use waves::Waves;

/// How a comparison is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory in which the run makes a directory of its own for its records.
    pub output: PathBuf,
    /// The algorithms and the table that the contenders use.
    pub controls: Controls,
    /// The largest number of networks at the same time. For networks of high load it may be fewer, so that
    /// the machine holds them.
    pub at_once: NonZeroUsize,
    /// Records every call of the switcher; None: none is recorded.
    pub recording: Option<Recording>,
}

/// Runs every contender of every scenario with each of its seeds, as many side by side as the machine
/// holds, and writes the records. Ends early on SIGINT, SIGTERM and SIGHUP, with what was measured until
/// then. Leaves nothing behind on the host but the records.
///
/// # Errors
/// Fails for scenarios that only the simulator can play or that cannot run together; if the host lacks
/// something, the emulator cannot hold a network, or records cannot be written; and if anything breaks on the
/// way.
pub fn run(scenarios: &[Scenario], options: &Options) -> Result<Outcome, Error> {
    scenarios.iter().try_for_each(check_playable)?;
    let switched = Switched::all(scenarios, &options.controls)?;
    host::check(scenarios)?;
    clean()?;
    for scenario in scenarios {
        let links: Vec<_> = scenario.links.iter().map(|link| link.path.clone()).collect();
        kirikae_emu::check_capacity(&links, &label(scenario))?;
    }
    let interruption = Interruption::listen()?;

    // The algorithms stay registered until the end of the run. If there is an agent, it registers its own.
    let candidates: Vec<String> = switched.iter().flat_map(Switched::algorithms).collect();
    let algorithms = contending(scenarios, &options.controls.algorithms, &candidates);
    let (switcher, _registered) = if !switched.is_empty() {
        let recording = options.recording.clone();
        (Some(Switcher::start(switched, algorithms.clone(), recording)?), None)
    } else if algorithms.is_empty() {
        (None, None)
    } else {
        (None, Some(Algorithms::register(&algorithms)?))
    };
    let records = Records::create(&options.output, scenarios, Clock::Real)?;
    let contests = Contest::all(scenarios);
    let waves = Waves {
        controls: &options.controls,
        switcher: switcher.as_ref(),
        at_once: options.at_once.get(),
        stop: interruption.flag(),
    };
    let played = waves.play(&contests)?;
    let switches = switcher.map_or(Ok(Vec::new()), Switcher::finish)?;

    let interrupted = interruption.came();
    let mut switches = by_ends(switches);
    let kept = contests
        .iter()
        .zip(played)
        .map(|(contest, played)| {
            played.map(|it| kept(contest, it, &mut switches, interrupted)).transpose()
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let outcome = Outcome {
        comparisons: comparisons(scenarios, kept),
        interrupted,
        records: Some(records.directory().to_owned()),
    };
    records.write(&outcome, &algorithms)?;
    Ok(outcome)
}

/// Refuses a scenario that only the simulator can play.
///
/// # Errors
/// Fails with what only the simulator can play: its file, line and key.
pub fn check_playable(scenario: &Scenario) -> Result<(), Error> {
    scenario.on_real_kernel()?;
    match scenario.contenders.iter().find(|contender| !contender.is_real()) {
        None => Ok(()),
        Some(contender) => Err(kirikae_results::Error::Incompatible(format!(
            "{}: bench.contenders: {contender} is played by the simulator alone, kirikae-lab sim; allowed \
             on the real kernel: the others",
            scenario.file.display(),
        )).into()),
    }
}

/// The scenario's name in messages.
fn label(scenario: &Scenario) -> String {
    format!("{}: {}", scenario.file.display(), scenario.title)
}

/// The switches of each connection by its ends, the one that was switched first, in order of time.
fn by_ends(switches: Vec<Switch>) -> BTreeMap<[SocketAddr; 2], Vec<Switch>> {
    let mut by_ends: BTreeMap<[SocketAddr; 2], Vec<Switch>> = BTreeMap::new();
    for switch in switches {
        by_ends.entry([switch.local, switch.remote]).or_default().push(switch);
    }
    by_ends
}

fn kept(
    contest: &Contest,
    played: Played,
    switches: &mut BTreeMap<[SocketAddr; 2], Vec<Switch>>,
    interrupted: bool,
) -> Result<Kept, Error> {
    let Played { mut course, ends } = played;
    let of_group = |group: &FlowGroup| {
        let contender = group.contender.unwrap_or(contest.contender);
        repeat_n(contender, group.connections() as usize)
    };
    let contenders = contest.scenario.flows.iter().flat_map(of_group);
    let table = r_tcp::table();
    for ((flow, ends), contender) in course.flows.iter_mut().zip(&ends).zip(contenders) {
        flow.switches = switches.remove(ends).unwrap_or_default();
        if contender == Contender::RTcp {
            let told = flow.switches.drain(..);
            flow.switches = told
                .map(|switch| r_tcp::with_predictions(switch, &table))
                .collect::<Result<_, _>>()?;
        }
    }
    Ok(contest.kept(&course, interrupted))
}

/// Every algorithm that a contender uses, or to which it may be switched.
fn contending(
    scenarios: &[Scenario],
    algorithms: &[Algorithm],
    candidates: &[String],
) -> Vec<Algorithm> {
    let everyone = || scenarios.iter().flat_map(Scenario::everyone);
    let contends = |wanted| everyone().any(|it| it == wanted);
    let switched = everyone().any(Contender::is_switched);
    algorithms
        .iter()
        .copied()
        .filter(|algorithm| {
            let candidate = candidates.iter().any(|candidate| candidate == algorithm.name());
            contends(Contender::Fixed(algorithm.name())) || (switched && candidate)
        })
        .collect()
}
