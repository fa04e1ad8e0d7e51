//! `kirikae-lab characterize`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kirikae_command::print;
use kirikae_simlab::characterize::{self, GridFile, Options, Report};
use kirikae_simlab::shards::{Shard, ShardReport};

/// Measure every algorithm at every place of a grid, and write the table that the switcher chooses by
///
/// Simulates bursts on every path that the grid file describes (docs/tables.md), on all cores, until
/// each mean latency is known as exactly as it asks for. The same grid file gives the same bytes, on
/// any number of cores. What is finished is kept in TABLE.csv.partial: after an interruption the
/// same command goes on from there. With --shard 1/n to n/n, on as many machines, it is measured in parts, which
/// `kirikae-lab merge` puts together into the same bytes. Needs neither root nor BPF.
#[derive(clap::Args)]
pub struct Arguments {
    /// Grid file; the one of the table that ships is tables/default.toml
    #[arg(value_name = "GRID.toml")]
    grid: PathBuf,
    /// The table, or the shard's file; one that is there is replaced when the new one is whole
    #[arg(long, value_name = "TABLE.csv")]
    output: PathBuf,
    /// Measure the i-th (from 1) of n parts of the grid, for `kirikae-lab merge`
    #[arg(long, value_name = "i/n", conflicts_with = "records")]
    shard: Option<Shard>,
    /// Directory for TABLE.parquet, with all that was measured of each algorithm at each place
    #[arg(long, value_name = "DIRECTORY")]
    records: Option<PathBuf>,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Builds the table.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let grid = GridFile::load(&arguments.grid).map_err(kirikae_results::Error::from)?;
    let Arguments { output, records, shard, json, .. } = arguments;
    if let Some(shard) = *shard {
        let report = characterize::run_shard(&grid, shard, output)?;
        print(&report, || shard_text(&report, "places", output), *json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options { output: output.clone(), records: records.clone() };
    let report = characterize::run(&grid, &options)?;
    print(&report, || text(&report, output), *json)?;
    Ok(ExitCode::SUCCESS)
}

/// What was done of a shard, whose places are called `what`, for people.
pub(super) fn shard_text(report: &ShardReport, what: &str, output: &Path) -> String {
    let ShardReport { shard, places, of, wall_s, .. } = report;
    let output = output.display();
    let mut text = format!("{output}: shard {shard}: {places} of {of} {what}, in {wall_s:.1} s");
    text += &resumed(report.resumed, what);
    text + "\n"
}

fn resumed(places: usize, what: &str) -> String {
    if places == 0 {
        return String::new();
    }
    format!(" ({places} {what} were done already)")
}

/// What was done, for people.
pub(super) fn text(report: &Report, output: &Path) -> String {
    let mut text = format!(
        "{}: {} places, {} algorithms: {} connections with {} bursts, in {:.1} s",
        output.display(),
        report.places,
        report.algorithms,
        report.repetitions,
        report.writes,
        report.wall_s,
    );
    text += &resumed(report.resumed, "places");
    text += &format!(
        "\nhalf of the latencies are known within {:.2} %, 95 % of them within {:.2} %; {} of {} have \
         had the most repetitions and are less exact than asked for\n",
        report.interval_p50 * 100.0,
        report.interval_p95 * 100.0,
        report.capped,
        report.places * report.algorithms,
    );
    if report.unfinished > 0 {
        text += &format!(
            "{} bursts did not arrive in time and count with the time they had waited\n",
            report.unfinished,
        );
    }
    text
}
