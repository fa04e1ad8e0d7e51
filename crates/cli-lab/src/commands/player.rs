//! `kirikae-lab player`: the ends of a bench's connections, started by it as a process of their own.

use std::process::ExitCode;

/// Play what a bench says on standard input.
#[derive(clap::Args)]
pub struct Arguments {}

/// Plays.
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    kirikae_bench::player::run()?;
    Ok(ExitCode::SUCCESS)
}
