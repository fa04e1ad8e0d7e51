//! Exit statuses, the same for every command.

use std::io;
use std::process::ExitCode;

use signal_hook::consts::SIGPIPE;

/// For `--help`.
pub const HELP: &str = "Exit status: 0 done; 1 failed; 2 wrong usage or input; 3 the host lacks \
                        something (the message says what, and what to do).";

/// Of a program that a closed pipe ends.
const BROKEN_PIPE: u8 = 128 + SIGPIPE as u8;

/// Prints the error and gives its exit status. Nothing is wrong where nobody reads on, as in
/// `kirikae ... | head`.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let printing = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let as_json = error.downcast_ref().and_then(serde_json::Error::io_error_kind);
    if printing.or(as_json) == Some(io::ErrorKind::BrokenPipe) {
        return ExitCode::from(BROKEN_PIPE);
    }
    eprintln!("kirikae: {error:#}");
    ExitCode::from(status(error))
}

fn status(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<kirikae_lab::Error>() {
        return error.exit_status();
    }
    let input = error.is::<kirikae_table::NoCandidate>()
        || error.is::<kirikae_settings::Refusal>()
        || error.is::<kirikae_doctor::Error>()
        || error.is::<kirikae_lab::fit::losses::Unusable>();
    if input {
        return 2;
    }
    match error.downcast_ref::<kirikae_agent::Error>() {
        Some(kirikae_agent::Error::Missing(_)) => 3,
        _ => 1,
    }
}
