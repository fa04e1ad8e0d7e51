//! `kirikae-lab lockstep`

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use kirikae_bench::{self as bench, lockstep};
use kirikae_command::print;

use super::comparison::Comparison;

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
    /// Most networks emulated at the same time
    #[arg(long, value_name = "NETWORKS", default_value = "56")]
    at_once: NonZeroUsize,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
    /// Directory in which the run makes a directory of its own for its records
    #[arg(long, value_name = "DIRECTORY", default_value = "results")]
    output: PathBuf,
}

/// Records and plays again.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let scenarios = arguments.comparison.scenarios()?;
    let options = bench::Options {
        output: arguments.output.clone(),
        controls: arguments.comparison.controls()?,
        at_once: arguments.at_once,
        recording: None,
    };
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
