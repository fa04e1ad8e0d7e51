//! What a search found, once it is known of all paths what came of them.

use std::path::PathBuf;

use kirikae_policy::WarmStart;
use kirikae_results::Error;
use kirikae_results::statistics::quantile;
use kirikae_scenario::Contender;
use serde::Serialize;

use super::climb::worst_first;
use super::examination::{AGAIN, CONFIRMED, Examined, REDUCED, Tested};
use super::played::{Played, Verdict};
use super::player::tried;
use super::{MISTAKE, Options, files};

/// Quantiles that are reported.
const QUANTILES: [f64; 9] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];
/// How many of the worst paths are told that are no finds.
const WORST: usize = 10;

/// What was found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Of every random stream.
    pub seed: u64,
    /// Paths that were drawn and played: fewer than asked for where it was interrupted.
    pub paths: usize,
    /// Whom the switcher was held against.
    pub than: Vec<Contender>,
    /// How connections began, where each was for one burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_connections: Option<WarmStart>,
    /// Ratio from which on it loses.
    pub loss: f64,
    /// Quantiles of the ratio on the drawn paths, each played once: which, and the ratio.
    pub quantiles: Vec<(f64, f64)>,
    /// Share (0 to 1) of them on which it is above 1.
    pub above_1: f64,
    /// Paths that were played again, with ten repetitions, since the ratio was half way to a loss.
    pub suspects: usize,
    /// Paths tested as finds, and the confidence that each needs to be above 1.
    pub tested: usize,
    /// See `tested`.
    pub confidence: f64,
    /// Paths on which the switcher loses, the worst first.
    pub finds: Vec<Find>,
    /// Of the paths that were played again and are no finds, the worst.
    pub worst: Vec<Tried>,
    /// Whether a signal ended it early: finds that had not been tested are not there.
    pub interrupted: bool,
    /// What it took, seconds.
    pub wall_s: f64,
}

/// A path that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// Its index among the drawn ones.
    pub path: u64,
    /// Whether it was changed since.
    pub changed: bool,
    /// What it is, in a line.
    pub title: String,
    /// What it has beside bursts and a link that drops what its queue does not hold.
    pub parts: Vec<&'static str>,
    /// What came of it.
    pub verdict: Verdict,
    /// The scenario file of which that came.
    #[serde(skip)]
    pub text: String,
}

/// A path on which the switcher loses.
#[derive(Debug, Serialize)]
pub struct Find {
    /// As it was found.
    pub found: Tried,
    /// What is left of it as it is made simple; played with seeds that had no part in that. As found
    /// where the simpler one does not lose.
    pub reduced: Tried,
    /// Its file, if files were asked for.
    pub file: Option<PathBuf>,
}

/// What was found, of what came of drawn paths and of the climbs from those that [`starts`](super::starts) names;
/// the finds are written, if that is asked for. It is as if nothing had interrupted it and it had taken no time.
///
/// # Errors
/// Files that cannot be written.
pub fn conclude(
    options: &Options,
    examined: &[Examined],
    climbed: &[Option<Tested>],
) -> Result<Report, Error> {
    let mut ratios: Vec<f64> = examined.iter().map(|it| it.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let tested =
        || examined.iter().filter_map(|it| it.tested.as_ref()).chain(climbed.iter().flatten());
    let confidence = 1.0 - MISTAKE / tested().count().max(1) as f64;
    let mut lost: Vec<&Tested> =
        tested().filter(|it| it.played.loses(options.loss, confidence)).collect();
    lost.sort_by(|a, b| b.played.ratio().total_cmp(&a.played.ratio()));
    let mut finds =
        lost.into_iter().map(|it| find(options, it)).collect::<Result<Vec<_>, Error>>()?;
    finds.sort_by(|a, b| b.reduced.verdict.at_least().total_cmp(&a.reduced.verdict.at_least()));
    // A path and what was climbed to from it may be the same once they are simple.
    finds.dedup_by(|a, b| a.reduced.text == b.reduced.text);
    options.output.as_deref().map_or(Ok(()), |output| files::write(output, &mut finds))?;

    let again = worst_first(examined);
    let is_find = |played: &Played| {
        finds.iter().any(|find| !find.found.changed && find.found.path == played.draw.index)
    };
    let worst = again.iter().filter(|played| !is_find(played)).take(WORST);
    Ok(Report {
        seed: options.seed,
        paths: ratios.len(),
        than: options.than.clone(),
        new_connections: options.new_connections,
        loss: options.loss,
        quantiles: QUANTILES.iter().filter_map(|q| Some((*q, quantile(&ratios, *q)?))).collect(),
        above_1: ratios.iter().filter(|ratio| **ratio > 1.0).count() as f64
            / ratios.len().max(1) as f64,
        suspects: again.len(),
        tested: tested().count(),
        confidence,
        worst: worst.map(|played| tried(options, &AGAIN, played)).collect::<Result<_, Error>>()?,
        finds,
        interrupted: false,
        wall_s: 0.0,
    })
}

fn find(options: &Options, Tested { played, simple }: &Tested) -> Result<Find, Error> {
    let found = tried(options, &CONFIRMED, played)?;
    let simple = simple.as_ref().map(|simple| tried(options, &REDUCED, simple)).transpose()?;
    Ok(Find { reduced: simple.unwrap_or_else(|| found.clone()), found, file: None })
}
