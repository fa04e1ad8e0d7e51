//! Exit statuses, the same for every command.

use std::io;
use std::process::ExitCode;

use signal_hook::consts::SIGPIPE;

/// The exit statuses, for `--help`.
pub const HELP: &str = "Exit status: 0 done; 1 failed; 2 wrong usage or input; 3 the host lacks \
                        something (the message says what, and what to do).";

/// The exit status of a program that a closed pipe ends.
const BROKEN_PIPE: u8 = 128 + SIGPIPE as u8;

/// Prints a program's error and returns its exit status; `status` gives that of the errors that it knows. A
/// closed standard output, as in `kirikae ... | head`, is no error.
pub fn report(
    program: &str,
    error: &anyhow::Error,
    status: impl FnOnce(&anyhow::Error) -> u8,
) -> ExitCode {
    let printing = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let as_json = error.downcast_ref().and_then(serde_json::Error::io_error_kind);
    if printing.or(as_json) == Some(io::ErrorKind::BrokenPipe) {
        return ExitCode::from(BROKEN_PIPE);
    }
    eprintln!("{program}: {error:#}");
    ExitCode::from(status(error))
}

/// Whether the error, of those that both programs know, means that something on the command line or in a file
/// is wrong: exit status 2.
pub fn is_wrong_input(error: &anyhow::Error) -> bool {
    error.is::<kirikae_table::NoCandidate>() || error.is::<kirikae_settings::Refusal>()
}
