//! `kirikae resume`

use std::process::ExitCode;

use kirikae_command::tell;
use kirikae_daemon::client;

/// Switch again in a scope that is only observed because switching hurt there
///
/// The guard of a scope compares what is switched with what is held back (docs/guard.md), and where it finds
/// that switching hurts, the scope is only observed until this is asked for. Everything is then
/// counted anew. Needs root.
#[derive(clap::Args)]
pub struct Arguments {
    /// Name of the scope [default: all of them]
    scope: Option<String>,
}

/// Asks the agent to resume.
pub fn run(Arguments { scope }: &Arguments) -> anyhow::Result<ExitCode> {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(scope.iter().map(|scope| ("scope", scope)))
        .finish();
    client::post(&format!("/resume?{query}"))?;
    tell!("kirikae: switching again; everything is counted anew");
    Ok(ExitCode::SUCCESS)
}
