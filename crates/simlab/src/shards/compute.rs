//! Computes a shard, into a file of its own or for who writes something of it, and goes on where an earlier run ended
//! early.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use kirikae_results::Error;
use kirikae_results::interruption::Interruption;
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Header, Journal, Shard, Sweep, write};

/// What was done of a shard.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShardReport {
    /// Which one.
    pub shard: Shard,
    /// Places of the shard.
    pub places: usize,
    /// Places of the whole sweep.
    pub of: usize,
    /// How many of its places an earlier run had computed, which ended early.
    pub resumed: usize,
    /// What this run took, seconds.
    pub wall_s: f64,
}

/// All results of a shard, which its journal still keeps.
pub(crate) struct Computed<T> {
    pub results: BTreeMap<usize, T>,
    /// How many an earlier run had computed, which ended early.
    pub resumed: usize,
    pub journal: Journal,
}

/// Computes the places of a shard, which are called `what`, on as many threads as the surrounding rayon pool has. What
/// is finished is kept beside `output`, which is to be written. `compute` may end early when its flag is set.
///
/// # Errors
/// A journal of something else, what `compute` fails with, [`Error::Interrupted`].
pub(crate) fn compute<S, T>(
    header: &Header<S>,
    output: &Path,
    what: &'static str,
    compute: impl Fn(usize, &AtomicBool) -> Result<T, Error> + Sync,
) -> Result<Computed<T>, Error>
where
    S: Sweep,
    T: Serialize + DeserializeOwned + Send,
{
    let (journal, mut results) = Journal::open(output, header)?;
    let resumed = results.len();
    let all = header.shard.places(header.places);
    let left: Vec<usize> = all.filter(|place| !results.contains_key(place)).collect();
    let all = resumed + left.len();

    let interruption = Interruption::listen()?;
    let bar = progress(what, resumed, all);
    // One at a time: they differ in length.
    let each = left.into_par_iter().with_max_len(1).map(|place| {
        if interruption.came() {
            return Ok(None);
        }
        let result = match compute(place, interruption.flag()) {
            Err(Error::Interrupted(_)) => return Ok(None),
            computed => computed?,
        };
        journal.add(place, &result)?;
        bar.inc(1);
        Ok(Some((place, result)))
    });
    let computed = each.collect::<Result<Vec<_>, Error>>();
    bar.finish_and_clear();
    results.extend(computed?.into_iter().flatten());
    if results.len() < all {
        return Err(Error::Interrupted(format!(
            "{} of {all} {what} are done and kept in {}; the same command goes on from there",
            results.len(),
            journal.path().display(),
        )));
    }
    Ok(Computed { results, resumed, journal })
}

/// Computes the places of a shard as [`compute`] does, and writes its file. One that is there is replaced as a whole.
///
/// # Errors
/// Those of [`compute`], a file that cannot be written.
pub(crate) fn compute_file<S, T>(
    header: &Header<S>,
    output: &Path,
    what: &'static str,
    compute_place: impl Fn(usize, &AtomicBool) -> Result<T, Error> + Sync,
) -> Result<ShardReport, Error>
where
    S: Sweep,
    T: Serialize + DeserializeOwned + Send,
{
    let began = Instant::now();
    let Computed { results, resumed, journal } = compute(header, output, what, compute_place)?;
    write(output, header, &results)?;
    journal.remove()?;
    let (shard, of) = (header.shard, header.places);
    let wall_s = began.elapsed().as_secs_f64();
    Ok(ShardReport { shard, places: results.len(), of, resumed, wall_s })
}

/// How many are done, and the time left; only on a terminal.
pub(crate) fn progress(what: &'static str, done: usize, all: usize) -> ProgressBar {
    let style = "{wide_bar} {pos} of {len} {msg}, {eta} left";
    let style = ProgressStyle::with_template(style).expect("a valid template");
    let bar = ProgressBar::new(all as u64).with_style(style).with_message(what);
    bar.set_position(done as u64);
    bar.reset_eta();
    bar
}
