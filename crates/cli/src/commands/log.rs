//! `kirikae log`

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use kirikae_daemon::client;
use kirikae_daemon::status::Switches;

/// How long it waits before it asks the agent for more.
const PAUSE: Duration = Duration::from_millis(500);

/// Print the latest switches, with their reasons
///
/// The oldest first, of the latest 10,000: when, which connection, from which algorithm to which, why,
/// and what was measured and predicted.
#[derive(clap::Args)]
pub struct Arguments {
    /// Go on with those to come, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Print each switch as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Prints the log.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let mut latest = 0;
    loop {
        let Switches { switches, .. } = client::get(&format!("/switches?after={latest}"))?;
        for numbered in &switches {
            writeln!(out, "{}", super::run::line(&numbered.switch, arguments.json))?;
            latest = numbered.number;
        }
        if !arguments.follow {
            return Ok(ExitCode::SUCCESS);
        }
        thread::sleep(PAUSE);
    }
}
