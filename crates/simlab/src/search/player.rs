//! Plays paths, each in a stage of the search.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use kirikae_path::stream_seed;
use kirikae_results::Error;
use kirikae_scenario::Scenario;

use super::distribution::{self, BURSTS, Play};
use super::draw::{Draw, Gene};
use super::played::Played;
use super::{Options, Tried};

/// With which seeds, and how often, a path is played.
pub(super) struct Stage {
    /// Under the search's seed.
    pub labels: [u64; 2],
    pub repetitions: u32,
}

/// Plays paths until it is to stop.
pub(super) struct Player<'a> {
    pub options: &'a Options,
    pub stop: &'a AtomicBool,
}

impl Player<'_> {
    /// Plays a path.
    ///
    /// # Errors
    /// [`Error::Interrupted`] where it is to stop.
    pub fn play(&self, stage: &Stage, draw: &Draw) -> Result<Played, Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted("nothing is kept".into()));
        }
        Played::of(draw, &scenario(self.options, stage, draw)?, &self.options.controls)
    }
}

/// A path that was played in this stage, as it is told.
pub(super) fn tried(options: &Options, stage: &Stage, played: &Played) -> Result<Tried, Error> {
    let draw = &played.draw;
    let genes = distribution::genes(draw, options.new_connections);
    Ok(Tried {
        path: draw.index,
        changed: draw.is_changed(),
        title: scenario(options, stage, draw)?.title,
        parts: genes.iter().filter_map(Gene::special).collect(),
        verdict: played.verdict(),
        text: text(options, stage, draw),
    })
}

fn scenario(options: &Options, stage: &Stage, draw: &Draw) -> Result<Scenario, Error> {
    Ok(Scenario::parse(&name(draw.index), text(options, stage, draw))?.remove(0))
}

/// A path as a scenario file that is played as in this stage.
pub(super) fn text(options: &Options, stage: &Stage, draw: &Draw) -> String {
    let [first, second] = stage.labels;
    // Shorter than they could be, to be read.
    let seed = stream_seed(options.seed, &[first, second, draw.index]) >> 32;
    let contenders = options.contenders();
    let play = Play {
        bursts: BURSTS,
        seed,
        repetitions: stage.repetitions,
        contenders: &contenders,
        new_connections: options.new_connections,
    };
    distribution::scenario(draw, play)
}

/// What messages call it.
pub(super) fn name(index: u64) -> PathBuf {
    format!("path-{index}.toml").into()
}
