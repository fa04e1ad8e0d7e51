//! `kirikae-lab bench`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_bench::{self as bench, Options};

use super::comparison::{self, AtOnce, Comparison};

/// Compare congestion controls on the real kernel over emulated paths
///
/// Runs every contender of every scenario, each on its own emulated network whose hosts are network
/// namespaces, with the same packets lost, as many at the same time as the machine holds, and prints the
/// table that `kirikae-lab sim` prints. Every burst or flow, every switch and the scenario itself are written
/// as records.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    comparison: Comparison,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at_once: AtOnce,
    /// Directory in which the run makes a directory of its own for its records
    #[arg(long, value_name = "DIRECTORY", default_value = "results")]
    output: PathBuf,
}

/// Runs the comparison.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let scenarios = arguments.comparison.scenarios()?;
    let controls = arguments.comparison.controls()?;
    let (output, at_once) = (arguments.output.clone(), arguments.at_once.networks());
    let outcome = bench::run(&scenarios, &Options { output, controls, at_once, recording: None })?;
    comparison::print_outcome(&outcome, arguments.json)?;
    Ok(if outcome.interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
