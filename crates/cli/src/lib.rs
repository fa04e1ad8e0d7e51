//! `kirikae`, what runs on servers: reads the command line and calls the crates that do the work.
//!
//! It is a library so that the man pages and completions can be made from the same definitions
//! (`examples/manual.rs`).

// These two panic where nobody reads: `tell!`, and `writeln!` with `?`, do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
mod moved;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use kirikae_command::{exit, finish_writing, tell};

/// How long the program waits at its end for a reader of what it has told.
const LAST_LINES_WITHIN: Duration = Duration::from_secs(1);

/// Picks the right congestion control for every TCP connection while it runs.
#[derive(Parser)]
#[command(name = "kirikae", version, long_version = kirikae_agent::VERSION, after_help = exit::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(commands::run::Arguments),
    Undo(commands::undo::Arguments),
    Check(commands::check::Arguments),
    Reload(commands::reload::Arguments),
    Resume(commands::resume::Arguments),
    Status(commands::status::Arguments),
    Top(commands::top::Arguments),
    Log(commands::log::Arguments),
    Paths(commands::paths::Arguments),
    Doctor(commands::doctor::Arguments),
    Explain(commands::explain::Arguments),
    Algorithms(commands::algorithms::Arguments),
    Support(commands::support::Arguments),
}

/// Every command and its options.
pub fn definitions() -> clap::Command {
    Arguments::command()
}

/// Does what the command line says; errors are printed.
pub fn run() -> ExitCode {
    if let Some(status) = kirikae_agent::be_worker() {
        return status;
    }
    if let Some(said) = moved::to_the_laboratory(std::env::args_os().nth(1).as_deref()) {
        tell!("kirikae: {said}");
        return ExitCode::from(2);
    }
    let arguments: Arguments = match exit::parse("kirikae") {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let done = match arguments.command {
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Undo(arguments) => commands::undo::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Reload(arguments) => commands::reload::run(&arguments),
        Command::Resume(arguments) => commands::resume::run(&arguments),
        Command::Status(arguments) => commands::status::run(&arguments),
        Command::Top(arguments) => commands::top::run(&arguments),
        Command::Paths(arguments) => commands::paths::run(&arguments),
        Command::Log(arguments) => commands::log::run(&arguments),
        Command::Algorithms(arguments) => commands::algorithms::run(&arguments),
        Command::Support(arguments) => commands::support::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
    };
    let status = done.unwrap_or_else(|error| exit::report("kirikae", &error, status));
    finish_writing(LAST_LINES_WITHIN);
    status
}

fn status(error: &anyhow::Error) -> u8 {
    if exit::is_wrong_input(error)
        || error.is::<kirikae_doctor::Error>()
        || error.is::<commands::explain::Unanswerable>()
    {
        return 2;
    }
    match error.downcast_ref::<kirikae_agent::Error>() {
        Some(kirikae_agent::Error::Wrong(_)) => 2,
        Some(kirikae_agent::Error::Missing(_)) => 3,
        _ => 1,
    }
}
