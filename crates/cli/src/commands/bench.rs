//! `kirikae bench`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_lab::bench::{self, Options};

use super::comparison::{self, Comparison};

/// Compare congestion controls on the real kernel over emulated paths
///
/// Runs every contender of every scenario at the same time, each on its own emulated path between
/// two network namespaces, with the same packets lost, and prints a table for each scenario.
/// Every burst, every switch and the scenario itself are written as records.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    comparison: Comparison,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Directory in which the run makes a directory of its own for its records
    #[arg(long, value_name = "DIRECTORY", default_value = "results")]
    output: PathBuf,
}

/// Runs the comparison.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let scenarios = arguments.comparison.scenarios()?;
    let controls = arguments.comparison.controls()?;
    let outcome = bench::run(&scenarios, &Options { output: arguments.output.clone(), controls })?;
    comparison::print_outcome(&outcome, arguments.json)?;
    Ok(if outcome.interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
