//! Exit statuses, the same for every command.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use signal_hook::consts::SIGPIPE;

use crate::tell;

/// The exit statuses, for `--help`.
pub const HELP: &str = "Exit status: 0 done; 1 failed; 2 wrong usage or input; 3 the host lacks something, or \
                        something of it is in the way (the message says what, and what to do); 141 \
                        whoever reads the output has closed it.";

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
    tell!("{program}: {error:#}");
    ExitCode::from(status(error))
}

/// Reads the command line. Where there is nothing to do, since it asks for help or is wrong, that is printed,
/// and the exit status is returned instead.
///
/// # Errors
/// Fails with the exit status if there is nothing to do.
pub fn parse<P: Parser>(program: &str) -> Result<P, ExitCode> {
    P::try_parse().map_err(|said| match said.print() {
        // Of an error that nobody reads the exit status still tells.
        Err(error) if !said.use_stderr() => report(program, &error.into(), |_| 1),
        _ => ExitCode::from(said.exit_code() as u8),
    })
}

/// Whether the error, of those that both programs know, means that something on the command line or in a file
/// is wrong: exit status 2.
pub fn is_wrong_input(error: &anyhow::Error) -> bool {
    error.is::<kirikae_table::NoCandidate>() || error.is::<kirikae_settings::Refusal>()
}
