//! A search for paths on which the switcher loses: many are drawn, the worst are changed for the worse,
//! and what loses with fresh seeds is made simple.

mod climb;
mod distribution;
mod draw;
mod files;
mod latencies;
mod reduce;
mod report;
mod verdict;

use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use kirikae_path::stream_seed;
use kirikae_policy::WarmStart;
use kirikae_results::Error;
use kirikae_results::interruption::Interruption;
use kirikae_results::statistics::quantile;
use kirikae_scenario::{Contender, Controls, Scenario};
use rayon::prelude::*;
use serde::Serialize;

pub use climb::GENERATIONS;
pub use distribution::BURSTS;
use distribution::Play;
use draw::{Draw, Gene};
pub use latencies::latencies;
pub use report::render;
pub use verdict::Verdict;

/// Every path once.
const DRAWN: Stage = Stage { labels: [2, 0], repetitions: 1 };
/// Those that looked bad, with other seeds.
const AGAIN: Stage = Stage { labels: [2, 1], repetitions: 10 };
/// Those that still did, and where the climbs ended: this decides.
const CONFIRMED: Stage = Stage { labels: [2, 2], repetitions: 40 };
/// The same for what was made simpler.
const REDUCED: Stage = Stage { labels: [2, 3], repetitions: 40 };
/// Chance that any find at all is none: the confidence of one follows from how many are tested.
const MISTAKE: f64 = 0.05;
/// Quantiles that are reported.
const QUANTILES: [f64; 9] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

/// What is searched.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of every random stream.
    pub seed: u64,
    /// How many paths are drawn.
    pub count: u64,
    /// From how many of the worst it climbs.
    pub climbs: usize,
    /// Of each climb; [`GENERATIONS`] are usual.
    pub generations: u64,
    /// Whom the switcher is held against: of several, on each path the best of them. Not empty, and
    /// without the switcher.
    pub than: Vec<Contender>,
    /// How connections begin, each of which is for one burst; None: one carries all of them.
    pub new_connections: Option<WarmStart>,
    /// Ratio of mean latencies from which on the switcher loses, above 1.
    pub loss: f64,
    /// A new or empty directory for the finds, as scenarios; none: they are only reported.
    pub output: Option<PathBuf>,
    /// What the contenders are made of.
    pub controls: Controls,
}

impl Options {
    /// The contenders of a drawn scenario; the switcher is the last. It starts from what it is held against:
    /// from stock bbr where that is all.
    fn contenders(&self) -> Vec<Contender> {
        let is_bbr = |than: &Contender| than.congestion_control() == "bbr";
        let own = match self.than.iter().all(is_bbr) {
            true => Contender::KirikaeOnBbr,
            false => Contender::Kirikae,
        };
        self.than.iter().copied().chain([own]).collect()
    }
}

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

/// The drawn path with this index, as the text of a scenario file: `kirikae-lab sim` plays it as the search
/// does when it meets it first.
///
/// # Errors
/// None but a defect: a drawn path that is no scenario.
pub fn only(options: &Options, index: u64) -> Result<String, Error> {
    let text = text(options, &DRAWN, &Draw::new(options.seed, index));
    Scenario::parse(&name(index), text.clone())?;
    Ok(text)
}

/// What comes of the drawn path with this index where the search meets it first, played once.
///
/// # Errors
/// None but a defect: a drawn path that is no scenario.
pub fn first(options: &Options, index: u64) -> Result<Verdict, Error> {
    let scenarios = Scenario::parse(&name(index), only(options, index)?)?;
    Verdict::of(&scenarios[0], options)
}

/// Searches, on as many threads as the surrounding rayon pool has; what is found is the same for any
/// number of them. On SIGINT, SIGTERM and SIGHUP it ends early and reports what it has.
///
/// # Errors
/// A directory that is of no use, files that cannot be written.
pub fn run(options: &Options) -> Result<Report, Error> {
    let began = Instant::now();
    options.output.as_deref().map_or(Ok(()), files::prepare)?;
    let player = Player { options, interruption: Interruption::listen()? };
    let drawn: Vec<Draw> = (0..options.count).map(|index| Draw::new(options.seed, index)).collect();
    let first = player.stage("drawing", &DRAWN, drawn)?;
    let ratio = |tried: &(Draw, Verdict)| tried.1.ratio.value;
    let mut ratios: Vec<f64> = first.iter().map(ratio).collect();
    ratios.sort_by(f64::total_cmp);

    let half_way = 1.0 + (options.loss - 1.0) / 2.0;
    let suspects = first.iter().filter(|tried| ratio(tried) >= half_way);
    let suspects: Vec<Draw> = suspects.map(|(draw, _)| draw.clone()).collect();
    let mut again = player.stage("playing again", &AGAIN, suspects.clone())?;
    again.sort_by(|a, b| b.1.at_least().total_cmp(&a.1.at_least()).then(a.0.index.cmp(&b.0.index)));
    let starts = again.iter().take(options.climbs).map(|(draw, _)| draw.clone()).collect();
    let climbed = climb::climb(&player, starts)?;

    let mut candidates: Vec<Draw> = again
        .iter()
        .filter(|tried| ratio(tried) >= options.loss)
        .map(|(draw, _)| draw.clone())
        .collect();
    candidates.extend(climbed.into_iter().filter(Draw::is_changed));
    let tested = candidates.len();
    let confidence = 1.0 - MISTAKE / tested.max(1) as f64;
    let mut confirmed = player.stage("confirming", &CONFIRMED, candidates)?;
    confirmed.retain(|(_, verdict)| verdict.loses(options.loss, confidence));
    confirmed.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let mut finds = player.reduced(confirmed)?;
    finds.sort_by(|a, b| b.reduced.verdict.at_least().total_cmp(&a.reduced.verdict.at_least()));
    // A path and what was climbed to from it may be the same once they are simple.
    finds.dedup_by(|a, b| a.reduced.text == b.reduced.text);
    options.output.as_deref().map_or(Ok(()), |output| files::write(output, &mut finds))?;

    let is_find =
        |draw: &Draw| finds.iter().any(|find| !find.found.changed && find.found.path == draw.index);
    let worst = again.into_iter().filter(|(draw, _)| !is_find(draw)).take(10);
    Ok(Report {
        seed: options.seed,
        paths: ratios.len(),
        than: options.than.clone(),
        new_connections: options.new_connections,
        loss: options.loss,
        quantiles: QUANTILES.iter().filter_map(|q| Some((*q, quantile(&ratios, *q)?))).collect(),
        above_1: ratios.iter().filter(|ratio| **ratio > 1.0).count() as f64
            / ratios.len().max(1) as f64,
        suspects: suspects.len(),
        tested,
        confidence,
        worst: worst.map(|it| player.tried(&AGAIN, it)).collect::<Result<_, Error>>()?,
        finds,
        interrupted: player.interruption.came(),
        wall_s: began.elapsed().as_secs_f64(),
    })
}

/// With which seeds, and how often, a path is played.
struct Stage {
    /// Under the search's seed.
    labels: [u64; 2],
    repetitions: u32,
}

/// Plays paths until it is interrupted.
struct Player<'a> {
    options: &'a Options,
    interruption: Interruption,
}

impl Player<'_> {
    /// Every path that was played, with what came of it.
    fn stage(
        &self,
        what: &'static str,
        stage: &Stage,
        draws: Vec<Draw>,
    ) -> Result<Vec<(Draw, Verdict)>, Error> {
        let bar = self.progress(what, draws.len());
        let verdicts = self.all(stage, &draws, &bar)?;
        bar.finish_and_clear();
        let played = draws.into_iter().zip(verdicts);
        Ok(played.filter_map(|(draw, verdict)| Some((draw, verdict?))).collect())
    }

    /// All of them, in their order.
    fn all(
        &self,
        stage: &Stage,
        draws: &[Draw],
        bar: &ProgressBar,
    ) -> Result<Vec<Option<Verdict>>, Error> {
        // One at a time: they differ in length.
        let each = draws.par_iter().with_max_len(1);
        each.map(|draw| self.play(stage, draw).inspect(|_| bar.inc(1))).collect()
    }

    /// None where it was interrupted.
    fn play(&self, stage: &Stage, draw: &Draw) -> Result<Option<Verdict>, Error> {
        if self.interruption.came() {
            return Ok(None);
        }
        Verdict::of(&self.scenario(stage, draw)?, self.options).map(Some)
    }

    fn scenario(&self, stage: &Stage, draw: &Draw) -> Result<Scenario, Error> {
        let mut scenarios = Scenario::parse(&name(draw.index), text(self.options, stage, draw))?;
        Ok(scenarios.remove(0))
    }

    /// Finds, made simple, the simpler ones played anew.
    fn reduced(&self, confirmed: Vec<(Draw, Verdict)>) -> Result<Vec<Find>, Error> {
        let bar = self.progress("reducing", confirmed.len());
        let reduce = |(draw, verdict): (Draw, Verdict)| {
            let simple = reduce::reduce(self, &draw)?;
            let fresh = self.play(&REDUCED, &simple)?;
            bar.inc(1);
            let loses = fresh.filter(|fresh| fresh.loses(self.options.loss, 1.0 - MISTAKE));
            let found = self.tried(&CONFIRMED, (draw, verdict))?;
            let reduced = loses.map(|fresh| self.tried(&REDUCED, (simple, fresh))).transpose()?;
            Ok(Find { reduced: reduced.unwrap_or_else(|| found.clone()), found, file: None })
        };
        let finds = confirmed.into_par_iter().with_max_len(1).map(reduce).collect();
        bar.finish_and_clear();
        finds
    }

    fn tried(&self, stage: &Stage, (draw, verdict): (Draw, Verdict)) -> Result<Tried, Error> {
        let title = self.scenario(stage, &draw)?.title;
        let text = text(self.options, stage, &draw);
        let genes = distribution::genes(&draw, self.options.new_connections);
        let parts = genes.iter().filter_map(Gene::special).collect();
        Ok(Tried { path: draw.index, changed: draw.is_changed(), title, parts, verdict, text })
    }

    /// How many are done, and the time left; only on a terminal.
    fn progress(&self, what: &'static str, paths: usize) -> ProgressBar {
        let style = "{msg} {wide_bar} {pos} of {len} paths, {eta} left";
        let style = ProgressStyle::with_template(style).expect("a valid template");
        ProgressBar::new(paths as u64).with_style(style).with_message(what)
    }
}

/// A path as a scenario file that is played as in this stage.
fn text(options: &Options, stage: &Stage, draw: &Draw) -> String {
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
fn name(index: u64) -> PathBuf {
    format!("path-{index}.toml").into()
}
