//! From the worst paths uphill: changed a little, again and again, keeping what is worse for the
//! switcher.

use kirikae_path::{RandomStream, stream_seed};
use kirikae_results::Error;

use super::draw::Draw;
use super::verdict::Verdict;
use super::{Options, Player, Stage, distribution};

/// Generations of a climb, usually.
pub const GENERATIONS: u64 = 15;
/// In a generation, beside the one that they come from.
const MUTANTS: usize = 9;
const REPETITIONS: u32 = 8;
/// Label of the streams that change paths, under the search's seed.
const CHANGES: u64 = 3;
const STAGE: u64 = 4;

/// The path at which each climb from `starts` ends. All of a generation meet the same seeds, those of the next one
/// others, so that the luck of one generation does not last; who has the highest lower end of its
/// interval is kept.
pub(super) fn climb(player: &Player, starts: Vec<Draw>) -> Result<Vec<Draw>, Error> {
    let generations = player.options.generations;
    let bar = player.progress("climbing", generations as usize * starts.len() * (MUTANTS + 1));
    let mut heights = starts;
    for generation in 0..generations {
        let stage = Stage { labels: [STAGE, generation], repetitions: REPETITIONS };
        let families: Vec<Draw> =
            heights.iter().flat_map(|draw| family(player.options, generation, draw)).collect();
        let verdicts = player.all(&stage, &families, &bar)?;
        let scored: Vec<(&Draw, Option<Verdict>)> = families.iter().zip(verdicts).collect();
        if scored.iter().any(|(_, verdict)| verdict.is_none()) {
            break;
        }
        let score = |(_, verdict): &&(&Draw, Option<Verdict>)| {
            verdict.as_ref().map_or(0.0, Verdict::at_least)
        };
        let worst = |family: &[(&Draw, Option<Verdict>)]| {
            let worst = family.iter().max_by(|a, b| score(a).total_cmp(&score(b)));
            worst.expect("a family has members").0.clone()
        };
        heights = scored.chunks(MUTANTS + 1).map(worst).collect();
    }
    bar.finish_and_clear();
    Ok(heights)
}

/// The path and its mutants.
fn family(options: &Options, generation: u64, draw: &Draw) -> Vec<Draw> {
    let genes = distribution::genes(draw, options.new_connections);
    let mut random =
        RandomStream::new(stream_seed(options.seed, &[CHANGES, draw.index, generation]));
    let mutants = (0..MUTANTS).map(|_| draw.mutant(&genes, &mut random));
    std::iter::once(draw.clone()).chain(mutants).collect()
}
