//! The binary; see the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    kirikae::run()
}
