//! `kirikae-lab merge`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_command::print;
use kirikae_simlab::characterize::{self, Options};

use super::characterize::text;

/// Put the shards of a table together, into the bytes that one run would have written
///
/// Takes the files that `kirikae-lab characterize --shard` wrote, all of a grid, in any order
/// (docs/tables.md). Refuses shards of different grids, shards that other code computed, files that are cut off
/// or were changed, a shard that is missing or there twice; nothing is written then.
#[derive(clap::Args)]
pub struct Arguments {
    /// Files of all shards
    #[arg(value_name = "SHARD", required = true)]
    shards: Vec<PathBuf>,
    /// The table; one that is there is replaced when the new one is whole
    #[arg(long, value_name = "TABLE.csv")]
    output: PathBuf,
    /// Directory for TABLE.parquet, with all that was measured of each algorithm at each place
    #[arg(long, value_name = "DIRECTORY")]
    records: Option<PathBuf>,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Writes the table.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { shards, output, records, json } = arguments;
    let options = Options { output: output.clone(), records: records.clone() };
    let report = characterize::merge(shards, &options)?;
    print(&report, || text(&report, output), *json)?;
    Ok(ExitCode::SUCCESS)
}
