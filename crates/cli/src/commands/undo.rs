//! `kirikae undo`

use std::process::ExitCode;

use kirikae_agent::Restored;
use kirikae_command::tell;

/// Restore everything after an agent that was killed
///
/// Stops the switching, restores every connection to the algorithm it had, and removes programs,
/// links, maps, pins and files. Does nothing, and says so, where there is nothing to undo. What could not be restored
/// is named, and the exit status is 1; then this can be run again. That no process or name leads to a network
/// namespace is no failure.
#[derive(clap::Args)]
pub struct Arguments {}

/// Undoes what an agent left.
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    match kirikae_agent::undo()? {
        Some(restored) => Ok(report(&restored)),
        None => {
            tell!("kirikae: nothing to undo");
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Says how many connections were restored. Returns the exit status.
pub fn report(restored: &Restored) -> ExitCode {
    let everything =
        if restored.is_complete() && restored.closed == 0 { ", everything removed" } else { "" };
    tell!("kirikae: {} connections restored{everything}", restored.connections);
    restored.troubles().for_each(|trouble| tell!("kirikae: {trouble}"));
    if restored.closed > 0 {
        tell!(
            "kirikae: {} closed sockets that their programs still hold keep their algorithm \
             in the kernel until these close them",
            restored.closed
        );
    }
    if !restored.remaining.is_empty() || restored.unreachable > 0 {
        tell!(
            "kirikae: connections that were not restored keep what they have; `kirikae undo` tries again"
        );
    }
    if restored.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
