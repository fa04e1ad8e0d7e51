//! `kirikae-guest`: what is checked on other kernels than the host's.
//!
//! The same program runs twice: on the host, where it boots a guest under qemu, and in the guest as
//! its first process, where it does the work and prints what it found.

mod carry;
mod conformance;
mod guest;
mod init;
mod initramfs;
mod kernel;
mod system;

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
    Carry(carry::Arguments),
    /// In the guest: runs the trials of `conformance`
    #[command(hide = true)]
    ConformanceInside(conformance::InsideArguments),
    /// In the guest: does what `carry` checks
    #[command(hide = true)]
    CarryInside,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::Carry(arguments) => carry::run(&arguments),
        Command::ConformanceInside(arguments) => init::run(|| conformance::inside(&arguments)),
        Command::CarryInside => init::run(carry::inside),
    };
    done.unwrap_or_else(|error| {
        eprintln!("kirikae-guest: {error:#}");
        ExitCode::FAILURE
    })
}
