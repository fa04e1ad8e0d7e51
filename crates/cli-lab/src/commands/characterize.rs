//! `kirikae-lab characterize`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_command::print;
use kirikae_simlab::characterize::{self, GridFile, Options, Report};

/// Measure every algorithm at every place of a grid, and write the table that the switcher chooses by
///
/// Simulates bursts on every path that the grid file describes (docs/tables.md), on all cores, until
/// each mean latency is known as exactly as it asks for. The same grid file gives the same bytes, on
/// any number of cores. What is finished is kept in TABLE.csv.partial: after an interruption the
/// same command goes on from there. Needs neither root nor BPF.
#[derive(clap::Args)]
pub struct Arguments {
    /// Grid file; the one of the table that ships is tables/default.toml
    #[arg(value_name = "GRID.toml")]
    grid: PathBuf,
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

/// Builds the table.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let grid = GridFile::load(&arguments.grid).map_err(kirikae_results::Error::from)?;
    let Arguments { output, records, .. } = arguments;
    let options = Options { output: output.clone(), records: records.clone() };
    let report = characterize::run(&grid, &options)?;
    print(&report, || text(&report, arguments), arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

fn text(report: &Report, arguments: &Arguments) -> String {
    let mut text = format!(
        "{}: {} places, {} algorithms: {} connections with {} bursts, in {:.1} s",
        arguments.output.display(),
        report.places,
        report.algorithms,
        report.repetitions,
        report.writes,
        report.wall_s,
    );
    if report.resumed > 0 {
        text += &format!(" ({} places were measured already)", report.resumed);
    }
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
