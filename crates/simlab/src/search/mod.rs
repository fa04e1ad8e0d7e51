//! A search for paths on which the switcher loses: many are drawn, the worst are changed for the worse,
//! and what loses with fresh seeds is made simple.

mod climb;
mod conclusion;
mod distribution;
mod draw;
mod examination;
mod files;
mod latencies;
mod played;
mod player;
mod reduce;
mod report;
mod sharded;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use kirikae_policy::WarmStart;
use kirikae_results::Error;
use kirikae_results::interruption::Interruption;
use kirikae_scenario::{Contender, Controls, Scenario};
use rayon::prelude::*;

use crate::shards::progress;
pub use climb::{GENERATIONS, climb, starts};
pub use conclusion::{Find, Report, Tried, conclude};
pub use distribution::BURSTS;
use draw::Draw;
use examination::DRAWN;
pub use examination::{Examined, Tested, examine};
pub use latencies::latencies;
pub use played::Verdict;
use player::{Player, name, text};
pub use report::render;
pub use sharded::{is_shard, merge, run_shard};

/// Chance that any find at all is none: the confidence of one follows from how many are tested.
const MISTAKE: f64 = 0.05;

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
    let player = Player { options, stop: &AtomicBool::new(false) };
    Ok(player.play(&DRAWN, &Draw::new(options.seed, index))?.verdict())
}

/// Searches, on as many threads as the surrounding rayon pool has; what is found is the same for any
/// number of them. On SIGINT, SIGTERM and SIGHUP it ends early and reports what it has.
///
/// # Errors
/// A directory that is of no use, files that cannot be written.
pub fn run(options: &Options) -> Result<Report, Error> {
    let began = Instant::now();
    options.output.as_deref().map_or(Ok(()), files::prepare)?;
    let interruption = Interruption::listen()?;
    let indexes: Vec<u64> = (0..options.count).collect();
    let play = |index| examine(options, index, interruption.flag());
    let examined = all("paths", indexes, &play)?;
    finish(options, &examined, began, &interruption)
}

/// Climbs from the worst of all paths, and concludes.
fn finish(
    options: &Options,
    examined: &[Examined],
    began: Instant,
    interruption: &Interruption,
) -> Result<Report, Error> {
    let up = |index| climb(options, index, interruption.flag());
    let climbed = all("climbs", starts(options, examined), &up)?;
    let report = conclude(options, examined, &climbed)?;
    let wall_s = began.elapsed().as_secs_f64();
    Ok(Report { interrupted: interruption.came(), wall_s, ..report })
}

/// What comes of each of them, in order, but of those during which it was interrupted.
fn all<T: Send>(
    what: &'static str,
    indexes: Vec<u64>,
    compute: &(dyn Fn(u64) -> Result<T, Error> + Sync),
) -> Result<Vec<T>, Error> {
    let bar = progress(what, 0, indexes.len());
    // One at a time: they differ in length.
    let each = indexes.into_par_iter().with_max_len(1);
    let computed = each.map(|index| unless_interrupted(compute(index)).inspect(|_| bar.inc(1)));
    let computed = computed.collect::<Result<Vec<Option<T>>, Error>>();
    bar.finish_and_clear();
    Ok(computed?.into_iter().flatten().collect())
}

/// None where it was interrupted.
fn unless_interrupted<T>(computed: Result<T, Error>) -> Result<Option<T>, Error> {
    match computed {
        Err(Error::Interrupted(_)) => Ok(None),
        computed => computed.map(Some),
    }
}
