//! The program; see the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    kirikae_lab::run()
}
