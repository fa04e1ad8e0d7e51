//! `kirikae burst-sender`: the sending end of a bench, started by it as a process of its own.

use std::process::ExitCode;

/// Send bursts as a bench asks for them.
#[derive(clap::Args)]
pub struct Arguments {
    /// What to send, when and whither, as JSON.
    assignment: String,
}

/// Sends.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    kirikae_lab::workload::sender::run(&arguments.assignment)?;
    Ok(ExitCode::SUCCESS)
}
