//! The one binary, `kirikae`: reads the command line and calls the crates that do the work.
//!
//! A library so that the man pages and completions are made from the same definitions
//! (`examples/manual.rs`).

mod commands;
mod exit;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Picks the right congestion control for every TCP connection while it runs.
#[derive(Parser)]
#[command(name = "kirikae", version, after_help = exit::HELP)]
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
    Sim(commands::sim::Arguments),
    Bench(commands::bench::Arguments),
    Emulate(commands::emulate::Arguments),
    Search(commands::search::Arguments),
    Validate(commands::validate::Arguments),
    Lockstep(commands::lockstep::Arguments),
    Replay(commands::replay::Arguments),
    Characterize(commands::characterize::Arguments),
    Doctor(commands::doctor::Arguments),
    Explain(commands::explain::Arguments),
    Fit(commands::fit::Arguments),
    Reproduce(commands::reproduce::Arguments),
    Algorithms(commands::algorithms::Arguments),
    Support(commands::support::Arguments),
    #[command(hide = true)]
    Player(commands::player::Arguments),
}

/// Every command and its options.
pub fn definitions() -> clap::Command {
    Arguments::command()
}

/// Does what the command line says; errors are printed.
pub fn run() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Undo(arguments) => commands::undo::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Reload(arguments) => commands::reload::run(&arguments),
        Command::Resume(arguments) => commands::resume::run(&arguments),
        Command::Status(arguments) => commands::status::run(&arguments),
        Command::Top(arguments) => commands::top::run(&arguments),
        Command::Log(arguments) => commands::log::run(&arguments),
        Command::Algorithms(arguments) => commands::algorithms::run(&arguments),
        Command::Support(arguments) => commands::support::run(&arguments),
        Command::Characterize(arguments) => commands::characterize::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Fit(arguments) => commands::fit::run(&arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Sim(arguments) => commands::sim::run(&arguments),
        Command::Bench(arguments) => commands::bench::run(&arguments),
        Command::Emulate(arguments) => commands::emulate::run(&arguments),
        Command::Search(arguments) => commands::search::run(&arguments),
        Command::Validate(arguments) => commands::validate::run(&arguments),
        Command::Lockstep(arguments) => commands::lockstep::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Reproduce(arguments) => commands::reproduce::run(&arguments),
        Command::Player(arguments) => commands::player::run(&arguments),
    };
    done.unwrap_or_else(|error| exit::report(&error))
}
