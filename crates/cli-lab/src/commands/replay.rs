//! `kirikae-lab replay`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_bench::lockstep;

/// Play calls of the switcher again that `kirikae-lab lockstep --keep` recorded
///
/// Needs neither root nor the kernel that they were recorded on. Exit status 1 where any call differs.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

/// Plays it again.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    super::lockstep::tell(&lockstep::replay(&arguments.file)?, arguments.json)
}
