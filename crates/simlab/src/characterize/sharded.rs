//! A table in parts, for schedulers that start processes: each measures its places into a file, and who has all files
//! writes the table.

use std::path::{Path, PathBuf};

use kirikae_provenance::Inputs;
use kirikae_results::Error;
use kirikae_settings::section::Source;
use serde::{Deserialize, Serialize};

use super::{GridFile, Options, Report, combine, measure, places};
use crate::shards::{self, Header, Shard, ShardReport, Sweep};

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// The lines of the grid file that count.
    grid: Vec<String>,
}

impl Sweep for Table {
    fn sources(&self) -> Inputs {
        Inputs::built(&["algorithms", "simulator", "switcher", "measuring", "laboratory"])
    }

    fn difference(&self, expected: &Table) -> Option<String> {
        let lines = self.grid.len().max(expected.grid.len());
        let differs =
            (0..lines).find(|place| self.grid.get(*place) != expected.grid.get(*place))?;
        let [own, expected] = [self, expected].map(|it| {
            it.grid.get(differs).map_or("nothing".into(), |line| format!("`{}`", line.trim()))
        });
        Some(format!("another grid: {own} instead of {expected}"))
    }
}

/// Of a shard of a grid's table.
pub(super) fn header(grid: &GridFile, shard: Shard) -> Header<Table> {
    Header::new(Table { grid: grid.lines.clone() }, shard, places(grid))
}

/// Measures the places of a shard as [`run`](super::run) does all, and writes a file for [`merge`]. One that is
/// there is replaced as a whole.
///
/// # Errors
/// A journal of something else, a file that cannot be written, [`Error::Interrupted`].
pub fn run_shard(grid: &GridFile, shard: Shard, output: &Path) -> Result<ShardReport, Error> {
    let header = header(grid, shard);
    shards::compute_file(&header, output, "places", |place, _| measure(grid, place))
}

/// Writes the table of the files that [`run_shard`] wrote, in any order: the bytes that [`run`](super::run) writes.
/// Which grid it is they say.
///
/// # Errors
/// A file that is no whole shard, or was computed by other code, shards of different grids, one twice or
/// missing; files that cannot be written, records that are there already.
pub fn merge(shards: &[PathBuf], options: &Options) -> Result<Report, Error> {
    let (Table { grid }, measured) = shards::read(shards)?;
    let source = Source::new(&shards[0], grid.join("\n"));
    combine(&GridFile::of(&source)?, &measured, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_told() {
        let of = |grid: &[&str]| Table { grid: grid.iter().map(|&line| line.into()).collect() };
        let one = of(&["seed = 1", "rtt = []"]);
        assert_eq!(one.difference(&one), None);
        assert_eq!(
            one.difference(&of(&["seed = 2", "rtt = []"])).unwrap(),
            "another grid: `seed = 1` instead of `seed = 2`"
        );
        assert_eq!(
            one.difference(&of(&["seed = 1"])).unwrap(),
            "another grid: `rtt = []` instead of nothing"
        );
    }
}
