//! `kirikae undo`

use std::process::ExitCode;

use kirikae_agent::Restored;
use kirikae_command::tell;

/// Restore everything after an agent that was killed
///
/// Stops the switching, restores every connection to the algorithm it had, and removes programs,
/// links, maps, pins and files. Does nothing, and says so, where there is nothing to undo.
#[derive(clap::Args)]
pub struct Arguments {}

/// Undoes what an agent left.
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    match kirikae_agent::undo()? {
        Some(restored) => report(restored),
        None => tell!("kirikae: nothing to undo"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Says how many connections were restored.
pub fn report(restored: Restored) {
    let Restored { connections, remaining, closed } = restored;
    let everything = if remaining + closed == 0 { ", everything removed" } else { "" };
    tell!("kirikae: {connections} connections restored{everything}");
    if remaining > 0 {
        tell!(
            "kirikae: {remaining} connections could not be restored, because no process or name \
             leads to their network namespace or the kernel no longer has the algorithm they had; \
             they keep the one they have until they end"
        );
    }
    if closed > 0 {
        tell!(
            "kirikae: {closed} closed sockets that their programs still hold keep their algorithm \
             in the kernel until these close them"
        );
    }
}
