//! `kirikae-lab`, the laboratory: reads the command line and calls the crates that do the work.
//!
//! A library so that the man pages and completions are made from the same definitions
//! (`examples/manual.rs`).

// These two panic where nobody reads: `tell!`, and `writeln!` with `?`, do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use kirikae_command::exit;

/// The laboratory of Kirikae: congestion controls compared in virtual time and on the real kernel.
#[derive(Parser)]
#[command(name = "kirikae-lab", version, after_help = exit::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sim(commands::sim::Arguments),
    Bench(commands::bench::Arguments),
    Emulate(commands::emulate::Arguments),
    Search(commands::search::Arguments),
    Validate(commands::validate::Arguments),
    Lockstep(commands::lockstep::Arguments),
    Replay(commands::replay::Arguments),
    Characterize(commands::characterize::Arguments),
    Merge(commands::merge::Arguments),
    Fit(commands::fit::Arguments),
    Reproduce(commands::reproduce::Arguments),
    #[command(hide = true)]
    Player(commands::player::Arguments),
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
    let arguments: Arguments = match exit::parse("kirikae-lab") {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let done = match arguments.command {
        Command::Sim(arguments) => commands::sim::run(&arguments),
        Command::Bench(arguments) => commands::bench::run(&arguments),
        Command::Emulate(arguments) => commands::emulate::run(&arguments),
        Command::Search(arguments) => commands::search::run(&arguments),
        Command::Validate(arguments) => commands::validate::run(&arguments),
        Command::Lockstep(arguments) => commands::lockstep::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Characterize(arguments) => commands::characterize::run(&arguments),
        Command::Merge(arguments) => commands::merge::run(&arguments),
        Command::Fit(arguments) => commands::fit::run(&arguments),
        Command::Reproduce(arguments) => commands::reproduce::run(&arguments),
        Command::Player(arguments) => commands::player::run(&arguments),
    };
    done.unwrap_or_else(|error| exit::report("kirikae-lab", &error, status))
}

fn status(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<kirikae_results::Error>() {
        return error.exit_status();
    }
    if let Some(error) = error.downcast_ref::<kirikae_bench::Error>() {
        return error.exit_status();
    }
    let is_input = exit::is_wrong_input(error) || error.is::<kirikae_fit::losses::Unusable>();
    if is_input { 2 } else { 1 }
}
