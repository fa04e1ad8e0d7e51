//! What both programs' command lines have in common.

mod choice;
pub mod exit;
mod print;
pub mod setting;
pub mod units;

pub use choice::Choice;
pub use print::print;
pub use setting::Setting;
