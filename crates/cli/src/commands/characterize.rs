//! `kirikae characterize`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_lab::characterize::{self, GridFile, Options, Report};

use super::comparison;

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
    let grid = GridFile::load(&arguments.grid).map_err(kirikae_lab::Error::from)?;
    let Arguments { output, records, .. } = arguments;
    let options = Options { output: output.clone(), records: records.clone() };
    let report = characterize::run(&grid, &options)?;
    comparison::print(&report, || text(&report, arguments), arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

fn text(report: &Report, arguments: &Arguments) -> String {
    let Report { places, resumed, algorithms, repetitions, writes, unfinished, capped, wall_s } =
        report;
    let latencies = places * algorithms;
    let mut text = format!(
        "{}: {places} places, {algorithms} algorithms: {repetitions} connections with {writes} \
         bursts in {wall_s:.1} s",
        arguments.output.display()
    );
    if *resumed > 0 {
        text += &format!(" ({resumed} places were measured already)");
    }
    text += &format!(
        "\n{capped} of {latencies} latencies are less exact than asked for, after the most \
         repetitions\n"
    );
    if *unfinished > 0 {
        text += &format!(
            "{unfinished} bursts did not arrive in time and count with the time they had waited\n"
        );
    }
    text
}
