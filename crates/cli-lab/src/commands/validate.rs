//! `kirikae-lab validate`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_bench as bench;
use kirikae_command::{print, tell};
use kirikae_scenario::Scenario;
use kirikae_simlab::sim;
use kirikae_validate::{self as validate, Side};

use super::comparison::{Comparison, OnKernel};

/// Hold the simulator against this kernel: the same scenarios through both, side by side
///
/// Runs `kirikae-lab bench` and `kirikae-lab sim` on the scenarios, the same packets lost on both sides,
/// and prints how far the simulated latencies are from the kernel's, and where flows are compared by group
/// also goodput and shares. The simulated packets are late by 20 to 40 us each way, as the emulator's are.
/// Exit status 1 where less than 95 % of the cells with latencies or 90 % of those with bulk agree, or the
/// measurement was interrupted.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    comparison: Comparison,
    /// Print the cells as JSON
    #[arg(long)]
    json: bool,
    /// Take the kernel's side from the records of earlier runs instead of measuring anew. May be
    /// given several times; of what several have, the last counts
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "output")]
    recorded: Vec<PathBuf>,
    #[command(flatten)]
    on_kernel: OnKernel,
}

/// Runs both sides.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let scenarios = arguments.comparison.scenarios()?;
    let controls = arguments.comparison.controls()?;
    scenarios.iter().try_for_each(bench::check_playable)?;
    let mut kernel = Side::new();
    for directory in &arguments.recorded {
        kernel.extend(validate::recorded(directory, &scenarios)?);
    }
    if arguments.recorded.is_empty() {
        let options = arguments.on_kernel.options(controls.clone());
        let outcome = bench::run(&scenarios, &options)?;
        if let Some(records) = &outcome.records {
            tell!("Records: {}", records.display());
        }
        if outcome.interrupted {
            tell!("INTERRUPTED: nothing is compared; the records have what had arrived.");
            return Ok(ExitCode::FAILURE);
        }
        kernel = validate::side(outcome);
    }
    let emulated: Vec<Scenario> = scenarios.iter().map(validate::as_emulated).collect();
    let options = sim::Options { output: None, files: sim::Files::default(), controls };
    let simulated = sim::run(&emulated, &options)?;
    let cells = validate::cells(&scenarios, kernel, validate::side(simulated));
    print(&cells, || validate::render(&cells), arguments.json)?;
    Ok(if validate::enough_agree(&cells) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
