//! What both programs' command lines have in common.

// These two panic where nobody reads: `tell!`, and `writeln!` with `?`, do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod choice;
pub mod exit;
mod print;
pub mod setting;
mod tell;
pub mod units;

pub use choice::Choice;
pub use print::print;
pub use setting::Setting;
pub use tell::{finish_writing, lines_lost, queue_line, tell_line, write_in_background};
