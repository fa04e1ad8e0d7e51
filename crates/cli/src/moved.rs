//! Commands that are the laboratory's, and what `kirikae` says if it is asked for one.

use std::ffi::OsStr;

/// Their names and options are the same in `kirikae-lab`.
const MOVED: [&str; 10] = [
    "bench",
    "characterize",
    "emulate",
    "fit",
    "lockstep",
    "replay",
    "reproduce",
    "search",
    "sim",
    "validate",
];

/// The message for such a command; None for others.
pub fn to_the_laboratory(command: Option<&OsStr>) -> Option<String> {
    let name = command?.to_str()?;
    MOVED
        .contains(&name)
        .then(|| format!("{name} is a command of kirikae-lab now: kirikae-lab {name}"))
}
