//! Lockstep compares, call by call, what the switcher decided in the kernel with what the native build
//! decides when it is given the same (docs/lockstep.md).

mod file;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use kirikae_agent::Recorded;
use kirikae_algorithms::{Replay, ReplayError};
use kirikae_scenario::{Contender, Scenario};
use serde::Serialize;

use crate::error::Error;
use file::Writer;
pub use file::read;

/// How many differences are told one by one; of further ones only the number is told.
const TOLD: usize = 5;

/// Where calls are recorded to while a bench runs.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The channel that they are sent to.
    pub to: mpsc::Sender<Recorded>,
    /// How often the policy is activated anew, every other time as one that only observes; None: never.
    pub reload_every: Option<Duration>,
}

/// The result of a replay.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lockstep {
    /// Calls whose outcome was compared.
    pub compared: u64,
    /// Compared calls with another outcome.
    pub differing: u64,
    /// Switches among the compared calls, made or observed.
    pub switches: u64,
    /// Calls that were not compared, because an earlier one on their connection is missing.
    pub taken_over: u64,
    /// Compared calls by what they were for.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// Number of policies that were active.
    pub policies: u64,
    /// The first differences.
    pub differences: Vec<String>,
    /// Whether the run was ended early.
    pub interrupted: bool,
}

/// Runs the scenarios on the real kernel, records every call of the switcher and plays it again. The
/// recording is also written to `keep`, if that is given.
///
/// # Errors
/// Fails as a bench does, or if the file cannot be written.
pub fn run(
    scenarios: &[Scenario],
    options: &crate::Options,
    reload_every: Option<Duration>,
    keep: Option<&Path>,
) -> Result<Lockstep, Error> {
    scenarios.iter().try_for_each(check_replayable)?;
    let mut writer = keep.map(Writer::create).transpose()?;
    let (to, recorded) = mpsc::channel();
    let mut options = options.clone();
    options.recording = Some(Recording { to, reload_every });
    thread::scope(|scope| {
        let replaying = scope.spawn(move || {
            let mut player = Player::default();
            for recorded in recorded {
                if let Some(writer) = &mut writer {
                    writer.write(&recorded)?;
                }
                player.play(recorded)?;
            }
            writer.map_or(Ok(()), Writer::finish)?;
            Ok::<_, Error>(player.finish())
        });
        let outcome = crate::run(scenarios, &options);
        // The replay ends when there is no sender left.
        drop(options);
        let played = replaying.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(Lockstep { interrupted: outcome?.interrupted, ..played? })
    })
}

/// Refuses a scenario whose contenders choose otherwise than servers do: the replay has the servers' choice
/// alone.
fn check_replayable(scenario: &Scenario) -> Result<(), Error> {
    match scenario.everyone().find(|contender| *contender == Contender::RTcp) {
        None => Ok(()),
        Some(contender) => Err(kirikae_results::Error::Incompatible(format!(
            "{}: {contender}: its calls are not played again; allowed in lockstep: the others",
            scenario.file.display(),
        ))
        .into()),
    }
}

/// Plays a recording again.
///
/// # Errors
/// Fails if the file is no recording, or of another version.
pub fn replay(file: &Path) -> Result<Lockstep, Error> {
    let mut player = Player::default();
    for recorded in read(file)? {
        player.play(recorded?)?;
    }
    Ok(player.finish())
}

#[derive(Default)]
struct Player {
    replay: Replay,
    found: Lockstep,
}

impl Player {
    fn play(&mut self, recorded: Recorded) -> Result<(), Error> {
        match recorded {
            Recorded::Policy { policy, tables } => {
                self.found.policies += 1;
                self.replay.activate(policy, tables);
            }
            Recorded::Call(bytes) => match self.replay.call(&bytes) {
                Err(differs @ ReplayError::Differs { .. }) => {
                    self.found.differing += 1;
                    if self.found.differences.len() < TOLD {
                        self.found.differences.push(differs.to_string());
                    }
                }
                Err(other) => {
                    return Err(kirikae_results::Error::Directory(other.to_string()).into());
                }
                Ok(()) => {}
            },
        }
        Ok(())
    }

    fn finish(self) -> Lockstep {
        let Replay { compared, taken_over, by_kind, switches, .. } = self.replay;
        Lockstep { compared, taken_over, by_kind, switches, ..self.found }
    }
}

/// The result as text.
pub fn render(found: &Lockstep) -> String {
    let kinds: Vec<String> =
        found.by_kind.iter().map(|(kind, calls)| format!("{calls} {kind}")).collect();
    let mut text = format!(
        "{} calls played again ({}), {} switches among them, under {} policies: {} differ\n",
        found.compared,
        kinds.join(", "),
        found.switches,
        found.policies,
        found.differing,
    );
    if found.taken_over > 0 {
        text += &format!(
            "{} calls were not compared: one before them on their connection is not recorded\n",
            found.taken_over
        );
    }
    for difference in &found.differences {
        text += difference;
    }
    text
}
