//! Exit statuses, the same for every command.

use std::process::ExitCode;

/// For `--help`.
pub const HELP: &str = "Exit status: 0 done; 1 failed; 2 wrong usage or input; 3 the host lacks \
                        something (the message says what, and what to do).";

/// Prints the error and gives its exit status.
pub fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("kirikae: {error:#}");
    ExitCode::from(status(error))
}

fn status(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<kirikae_lab::Error>() {
        return error.exit_status();
    }
    match error.downcast_ref::<kirikae_agent::Error>() {
        Some(kirikae_agent::Error::Missing(_)) => 3,
        _ => 1,
    }
}
