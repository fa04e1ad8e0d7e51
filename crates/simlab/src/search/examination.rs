//! What comes of a drawn path, as far as no other path has to do with it.

use std::sync::atomic::AtomicBool;

use kirikae_results::Error;
use serde::{Deserialize, Serialize};

use super::draw::Draw;
use super::played::Played;
use super::player::{Player, Stage};
use super::{MISTAKE, Options, reduce};

/// Every path once.
pub(super) const DRAWN: Stage = Stage { labels: [2, 0], repetitions: 1 };
/// Those that looked bad, with other seeds.
pub(super) const AGAIN: Stage = Stage { labels: [2, 1], repetitions: 10 };
/// Those that still did, and where the climbs ended: this decides.
pub(super) const CONFIRMED: Stage = Stage { labels: [2, 2], repetitions: 40 };
/// The same for what was made simpler.
pub(super) const REDUCED: Stage = Stage { labels: [2, 3], repetitions: 40 };

/// What came of a drawn path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Examined {
    /// Mean latency of the switcher over that of whom it is held against, played once.
    pub(super) ratio: f64,
    /// Played again, where that was half way to a loss.
    pub(super) again: Option<Played>,
    /// Where it still was one.
    pub(super) tested: Option<Tested>,
}

/// A path that was tested as a find.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tested {
    pub(super) played: Played,
    /// What is left of it as it is made simple, played with seeds that had no part in that; None where it does not
    /// lose, or the simpler one does not. How many are tested, and so how sure a find has to be, is not known
    /// yet: what is none with the confidence for one is none with that for many.
    pub(super) simple: Option<Played>,
}

/// Plays the drawn path with this index, so often as it takes.
///
/// # Errors
/// [`Error::Interrupted`] when `stop` is set meanwhile; none else but a defect: a drawn path that is no scenario.
pub fn examine(options: &Options, index: u64, stop: &AtomicBool) -> Result<Examined, Error> {
    let player = Player { options, stop };
    let draw = Draw::new(options.seed, index);
    let ratio = player.play(&DRAWN, &draw)?.ratio();
    let half_way = 1.0 + (options.loss - 1.0) / 2.0;
    let again = if ratio >= half_way { Some(player.play(&AGAIN, &draw)?) } else { None };
    let tested = match &again {
        Some(again) if again.ratio() >= options.loss => Some(test(&player, &draw)?),
        _ => None,
    };
    Ok(Examined { ratio, again, tested })
}

/// Whether a path is a find, and what is left of it then.
pub(super) fn test(player: &Player, draw: &Draw) -> Result<Tested, Error> {
    let loses = |played: &Played| played.loses(player.options.loss, 1.0 - MISTAKE);
    let played = player.play(&CONFIRMED, draw)?;
    let simple = match loses(&played) {
        true => Some(player.play(&REDUCED, &reduce::reduce(player, draw)?)?).filter(loses),
        false => None,
    };
    Ok(Tested { played, simple })
}
