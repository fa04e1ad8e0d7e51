//! A search in parts, for schedulers that start processes: each plays its drawn paths into a file, and who has all
//! files climbs from the worst and tells what was found.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

use kirikae_policy::WarmStart;
use kirikae_provenance::{Inputs, digest_of};
use kirikae_results::Error;
use kirikae_results::interruption::Interruption;
use kirikae_scenario::{Contender, Controls};
use serde::{Deserialize, Serialize};
use zerocopy::IntoBytes;

use super::{Examined, Options, Report, examine, files, finish};
use crate::shards::{self, Header, Shard, ShardReport, Sweep};

/// What is searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Search {
    seed: u64,
    count: u64,
    climbs: usize,
    generations: u64,
    than: Vec<Contender>,
    new_connections: Option<String>,
    loss: f64,
    /// Digest of the latency table that the switcher chooses by.
    table: String,
}

impl Sweep for Search {
    fn sources(&self) -> Inputs {
        Inputs::built(&["algorithms", "simulator", "switcher", "laboratory", "tables", "search"])
    }

    fn difference(&self, expected: &Search) -> Option<String> {
        let [own, expected] =
            [self, expected].map(|it| serde_json::to_value(it).expect("plain data"));
        let fields = own.as_object().expect("a struct").iter();
        let (name, found) = fields.into_iter().find(|(name, found)| expected[name] != **found)?;
        Some(format!("another search: {name} {found} instead of {}", expected[name]))
    }
}

impl Search {
    fn of(options: &Options) -> Search {
        Search {
            seed: options.seed,
            count: options.count,
            climbs: options.climbs,
            generations: options.generations,
            than: options.than.clone(),
            new_connections: options.new_connections.map(|start| start.name().to_owned()),
            loss: options.loss,
            table: digest_of(options.controls.table.as_bytes()),
        }
    }

    /// None where the controls have another table.
    fn options(self, controls: Controls, output: Option<PathBuf>) -> Option<Options> {
        let start = |name: &String| WarmStart::ALL.into_iter().find(|start| start.name() == name);
        let options = Options {
            seed: self.seed,
            count: self.count,
            climbs: self.climbs,
            generations: self.generations,
            than: self.than.clone(),
            new_connections: self.new_connections.as_ref().and_then(start),
            loss: self.loss,
            output,
            controls,
        };
        (Search::of(&options) == self).then_some(options)
    }
}

/// Plays the drawn paths of a shard as [`run`](super::run) does all, and writes a file for [`merge`]. One that is
/// there is replaced as a whole. What is finished is kept meanwhile: after it ended early the same call goes on.
///
/// # Errors
/// A journal of something else, a file that cannot be written, [`Error::Interrupted`].
pub fn run_shard(options: &Options, shard: Shard, output: &Path) -> Result<ShardReport, Error> {
    let header = Header::new(Search::of(options), shard, options.count as usize);
    let play = |place: usize, stop: &_| examine(options, place as u64, stop);
    shards::compute_file(&header, output, "paths", play)
}

/// Whether a file begins as [`run_shard`] begins it.
pub fn is_shard(file: &Path) -> bool {
    let mut first = String::new();
    let read = File::open(file).and_then(|file| BufReader::new(file).read_line(&mut first));
    read.is_ok() && serde_json::from_str::<Header<Search>>(&first).is_ok()
}

/// What [`run`](super::run) reports and writes, of the files that [`run_shard`] wrote, in any order. What is
/// searched they say, but for the contenders: `controls` are those of the shards.
///
/// # Errors
/// A file that is no whole shard, or was computed by other code or by another latency table than `controls` has,
/// shards of different searches, one twice or missing; a directory that is of no use, files that cannot be
/// written.
pub fn merge(
    shards: &[PathBuf],
    controls: Controls,
    output: Option<PathBuf>,
) -> Result<Report, Error> {
    let began = Instant::now();
    let (search, examined): (Search, Vec<Examined>) = shards::read(shards)?;
    let options = search.options(controls, output).ok_or_else(|| {
        Error::Shard(format!(
            "{}: it was searched by another latency table; allowed: the --table and --friendliness that \
             the shards had",
            shards[0].display()
        ))
    })?;
    options.output.as_deref().map_or(Ok(()), files::prepare)?;
    finish(&options, &examined, began, &Interruption::listen()?)
}
