//! `kirikae-guest`: what is checked on other kernels than the host's.
//!
//! The same program runs twice: on the host, where it boots a guest under qemu, and in the guest as
//! its first process, where it does the work and prints what it found.

mod apt;
mod architecture;
mod bench;
mod cache;
mod conformance;
mod guest;
mod init;
mod initramfs;
mod kernel;
mod life;
mod output;
mod system;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Checks the algorithms on other kernels than the host's, in guests under qemu.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Conformance(conformance::Arguments),
    Life(life::Arguments),
    Bench(bench::Arguments),
    /// In the guest: runs the runs of `conformance`
    #[command(hide = true)]
    ConformanceInside(conformance::InsideArguments),
    /// In the guest: does what `life` checks
    #[command(hide = true)]
    LifeInside,
    /// In the guest: plays for `bench`
    #[command(hide = true)]
    BenchInside {
        scenario: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::Life(arguments) => life::run(&arguments),
        Command::ConformanceInside(arguments) => init::run(|| conformance::inside(&arguments)),
        Command::LifeInside => init::run(life::inside),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::BenchInside { scenario } => init::run(|| bench::inside(&scenario)),
    };
    done.unwrap_or_else(|error| {
        eprintln!("kirikae-guest: {error:#}");
        ExitCode::FAILURE
    })
}
