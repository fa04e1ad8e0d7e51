//! `kirikae sim`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_lab::sim::{self, Options};

use super::comparison::Comparison;

/// Compare congestion controls in virtual time: seconds for what takes the real kernel hours
///
/// Simulates every contender of every scenario with the same packets lost, on all cores, and
/// prints the table that `kirikae bench` prints. Needs neither root nor BPF. The same files, seeds
/// and version give the same figures on every machine.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    comparison: Comparison,
    /// Directory in which the run makes a directory of its own for its records; without it none are
    /// written
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
}

/// Runs the comparison.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let comparison = &arguments.comparison;
    let scenarios = comparison.scenarios()?;
    let algorithms = comparison.algorithms()?;
    let outcome = sim::run(&scenarios, &Options { output: arguments.output.clone(), algorithms })?;
    comparison.print(&outcome)?;
    Ok(ExitCode::SUCCESS)
}
