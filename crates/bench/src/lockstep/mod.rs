//! Lockstep: what the switcher decided in the kernel, call by call, against what the native build
//! decides when it is given the same (docs/lockstep.md).

mod file;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use kirikae_agent::Recorded;
use kirikae_algorithms::{Replay, ReplayError};
use kirikae_scenario::Scenario;
use serde::Serialize;

use crate::error::Error;
use file::Writer;
pub use file::read;

/// Differences that are told one by one; of further ones the number.
const TOLD: usize = 5;

/// What calls are recorded for, while a bench runs.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where they go.
    pub to: mpsc::Sender<Recorded>,
    /// How often the policy is put in force anew, every other time as one that only observes; none:
    /// never.
    pub reload_every: Option<Duration>,
}

/// What came of a replay.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lockstep {
    /// Calls whose outcome was compared.
    pub compared: u64,
    /// Those of them that came out otherwise.
    pub differing: u64,
    /// Switches among them, made or observed.
    pub switches: u64,
    /// Calls that were not compared, because one before them on their connection is missing.
    pub taken_over: u64,
    /// Those compared, by what they were for.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// Policies that were in force.
    pub policies: u64,
    /// The first differences.
    pub differences: Vec<String>,
    /// Whether it was ended early.
    pub interrupted: bool,
}

/// Runs the scenarios on the real kernel, records every call of the switcher and plays it again; into
/// `keep`, if given, the recording is written, too.
///
/// # Errors
/// As of a bench, and a file that cannot be written.
pub fn run(
    scenarios: &[Scenario],
    options: &crate::Options,
    reload_every: Option<Duration>,
    keep: Option<&Path>,
) -> Result<Lockstep, Error> {
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
        // The replay ends when nobody can send any more.
        drop(options);
        let played = replaying.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(Lockstep { interrupted: outcome?.interrupted, ..played? })
    })
}

/// Plays a recording again.
///
/// # Errors
/// A file that is none, or of another version.
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
                self.replay.put_in_force(policy, tables);
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

/// As text.
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
