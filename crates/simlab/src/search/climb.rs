//! From one of the worst paths uphill: changed a little, again and again, keeping what is worse for the
//! switcher.

use std::sync::atomic::AtomicBool;

use kirikae_path::{RandomStream, stream_seed};
use kirikae_results::Error;
use rayon::prelude::*;

use super::draw::Draw;
use super::examination::{Examined, Tested, test};
use super::played::Played;
use super::player::{Player, Stage};
use super::{Options, distribution};

/// Generations of a climb, usually.
pub const GENERATIONS: u64 = 15;
/// In a generation, beside the one that they come from.
const MUTANTS: usize = 9;
const REPETITIONS: u32 = 8;
/// Label of the streams that change paths, under the search's seed.
const CHANGES: u64 = 3;
const STAGE: u64 = 4;

/// From which of the drawn paths it climbs: those that are worst when they are played again.
pub fn starts(options: &Options, examined: &[Examined]) -> Vec<u64> {
    let again = worst_first(examined).into_iter().take(options.climbs);
    again.map(|played| played.draw.index).collect()
}

/// All paths that were played again, the worst first.
pub(super) fn worst_first(examined: &[Examined]) -> Vec<&Played> {
    let mut again: Vec<&Played> = examined.iter().filter_map(|it| it.again.as_ref()).collect();
    again.sort_by(|a, b| {
        b.at_least().total_cmp(&a.at_least()).then(a.draw.index.cmp(&b.draw.index))
    });
    again
}

/// Climbs from the drawn path with this index, and tests where it ends; None where that is where it began. All of a
/// generation meet the same seeds, those of the next one others, so that the luck of one generation does not
/// last; who has the highest lower end of its interval is kept.
///
/// # Errors
/// [`Error::Interrupted`] when `stop` is set meanwhile; none else but a defect: a path that is no scenario.
pub fn climb(options: &Options, index: u64, stop: &AtomicBool) -> Result<Option<Tested>, Error> {
    let player = Player { options, stop };
    let mut height = Draw::new(options.seed, index);
    for generation in 0..options.generations {
        let stage = Stage { labels: [STAGE, generation], repetitions: REPETITIONS };
        let family = family(options, generation, &height).into_par_iter().with_max_len(1);
        let played = family.map(|draw| player.play(&stage, &draw));
        let played = played.collect::<Result<Vec<Played>, Error>>()?;
        let worst = played.into_iter().max_by(|a, b| a.at_least().total_cmp(&b.at_least()));
        height = worst.expect("a family has members").draw;
    }
    height.is_changed().then(|| test(&player, &height)).transpose()
}

/// The path and its mutants.
fn family(options: &Options, generation: u64, draw: &Draw) -> Vec<Draw> {
    let genes = distribution::genes(draw, options.new_connections);
    let mut random =
        RandomStream::new(stream_seed(options.seed, &[CHANGES, draw.index, generation]));
    let mutants = (0..MUTANTS).map(|_| draw.mutant(&genes, &mut random));
    std::iter::once(draw.clone()).chain(mutants).collect()
}
