//! `kirikae-lab lockstep`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use kirikae_bench::lockstep;
use kirikae_command::print;

use super::comparison::{Comparison, OnKernel};

/// Hold the switcher of this build against the one in the kernel, call by call
///
/// Runs the scenarios on the real kernel and records every call of the switcher there: each field
/// that it reads, each answer of the kernel, and what it decided. The native build, of which the
/// simulator is made, is given the same and must decide the same. Exit status 1 where any call differs.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    comparison: Comparison,
    /// Put the policy in force anew every so often, every other time as one that only observes
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    reload_every: Option<Duration>,
    /// Keep the recording in a new file: about 1.5 kB for each call
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    on_kernel: OnKernel,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

/// Records and plays again.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let scenarios = arguments.comparison.scenarios()?;
    let options = arguments.on_kernel.options(arguments.comparison.controls()?);
    let keep = arguments.keep.as_deref();
    let found = lockstep::run(&scenarios, &options, arguments.reload_every, keep)?;
    tell(&found, arguments.json)
}

/// Prints what was found.
pub fn tell(found: &lockstep::Lockstep, json: bool) -> anyhow::Result<ExitCode> {
    print(found, || lockstep::render(found), json)?;
    let is_same = found.differing == 0 && found.compared > 0 && !found.interrupted;
    Ok(if is_same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
