//! Commands that `kirikae` had before the laboratory was a program of its own.

use std::ffi::OsStr;

/// They have the same names and options there.
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

/// What to say where such a command is asked for.
pub fn to_the_laboratory(command: Option<&OsStr>) -> Option<String> {
    let name = command?.to_str()?;
    MOVED
        .contains(&name)
        .then(|| format!("{name} is a command of kirikae-lab now: kirikae-lab {name}"))
}
