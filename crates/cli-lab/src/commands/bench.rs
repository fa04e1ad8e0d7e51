//! `kirikae-lab bench`

use std::process::ExitCode;

use super::comparison::{self, Comparison, OnKernel};

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
    on_kernel: OnKernel,
}

/// Runs the comparison.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let scenarios = arguments.comparison.scenarios()?;
    let controls = arguments.comparison.controls()?;
    let outcome = kirikae_bench::run(&scenarios, &arguments.on_kernel.options(controls))?;
    comparison::print_outcome(&outcome, arguments.json)?;
    Ok(if outcome.interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
