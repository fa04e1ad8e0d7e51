//! A find made simpler while it still loses.

use kirikae_results::Error;

use super::distribution;
use super::draw::Draw;
use super::player::{Player, Stage};

/// Connections for each step.
const REPETITIONS: u32 = 12;
const STAGE: Stage = Stage { labels: [5, 0], repetitions: REPETITIONS };

/// What is left of the path when no single part of it can be left out or rounded any more. Every step
/// meets the same seeds; what is left is to be played with others.
pub(super) fn reduce(player: &Player, find: &Draw) -> Result<Draw, Error> {
    let mut reduced = find.clone();
    let mut again = true;
    while again {
        again = false;
        for gene in distribution::genes(&reduced, player.options.new_connections) {
            let Some(simpler) = reduced.simpler(&gene) else { continue };
            if player.play(&STAGE, &simpler)?.loses(player.options.loss, 0.95) {
                reduced = simpler;
                again = true;
            }
        }
    }
    Ok(reduced)
}
