//! `kirikae undo`

use std::process::ExitCode;

use kirikae_agent::Restored;

/// Put back everything that a killed agent left
///
/// Stops the switching, puts every connection back on the algorithm it had, and removes programs,
/// links, maps, pins and files. Does nothing, and says so, where there is nothing to undo.
#[derive(clap::Args)]
pub struct Arguments {}

/// Undoes.
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    match kirikae_agent::undo()? {
        Some(restored) => report(restored),
        None => eprintln!("kirikae: nothing to undo"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what became of the connections.
pub fn report(restored: Restored) {
    eprintln!("kirikae: {} connections put back, everything removed", restored.connections);
    if restored.remaining > 0 {
        eprintln!(
            "kirikae: {} connections could not be put back, because no process or name leads to \
             their network namespace or the kernel no longer has the algorithm they had; they \
             keep the one they have until they end",
            restored.remaining
        );
    }
}
