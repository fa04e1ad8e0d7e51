//! `kirikae-lab merge`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_command::{Choice, print};
use kirikae_results::Error;
use kirikae_simlab::{characterize, search};

use super::characterize::text;
use super::search::{controls, tell};

/// Put the shards of a latency table or of a search together, into what one run would have given
///
/// Takes the files that `kirikae-lab characterize --shard` (docs/tables.md) or `kirikae-lab search --shard`
/// (docs/search.md) wrote, all of a table or of a search, in any order. Of a table the bytes are those of one
/// run. Of a search it climbs from the worst paths of all shards, and reports and writes what one run would have,
/// with its exit status. Refuses shards that are of different grids or searches, or of other code, files that are cut
/// off or were changed, a shard that is missing or there twice; nothing is written then.
#[derive(clap::Args)]
pub struct Arguments {
    /// Files of all shards
    #[arg(value_name = "SHARD", required = true)]
    shards: Vec<PathBuf>,
    /// The table; one that is there is replaced when the new one is whole. Or of a search the directory for the
    /// finds, new or empty; without it none are written
    #[arg(long, value_name = "TABLE.csv|DIRECTORY")]
    output: Option<PathBuf>,
    /// Of a table: directory for TABLE.parquet, with all that was measured of each algorithm at each place
    #[arg(long, value_name = "DIRECTORY")]
    records: Option<PathBuf>,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = "Of a search, as its shards had them")]
    choice: Choice,
}

/// Writes the table, or what was found.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { shards, output, records, json, choice } = arguments;
    let refused = |problem: &str| Err(Error::Shard(problem.to_owned()).into());
    if search::is_shard(&shards[0]) {
        if records.is_some() {
            return refused("--records: the shards are of a search; allowed: for those of a table");
        }
        let report = search::merge(shards, controls(choice)?, output.clone())?;
        return tell(&report, *json);
    }
    if choice.is_given() {
        return refused(
            "--table and --friendliness: the shards are of a table; allowed: for those of a search",
        );
    }
    let Some(output) = output.clone() else {
        return refused("--output: found none; allowed: the file of the table");
    };
    let options = characterize::Options { output, records: records.clone() };
    let report = characterize::merge(shards, &options)?;
    print(&report, || text(&report, &options.output), *json)?;
    Ok(ExitCode::SUCCESS)
}
