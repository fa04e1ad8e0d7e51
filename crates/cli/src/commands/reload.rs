//! `kirikae reload`

use std::process::ExitCode;

use kirikae_command::tell;
use kirikae_daemon::client;

/// Have the agent read its policy file again
///
/// All or nothing: a file with something wrong in it changes nothing, and is told. Open connections
/// follow. Needs root.
#[derive(clap::Args)]
pub struct Arguments {}

/// Asks the agent to reload.
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    client::post("/reload")?;
    tell!("kirikae: the policy was read again and is in force");
    Ok(ExitCode::SUCCESS)
}
