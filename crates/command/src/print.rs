//! Prints what a command tells, as text or as JSON.

use std::io::{self, Write};

use serde::Serialize;

/// Prints what there is to tell, as text or as JSON.
///
/// # Errors
/// Fails if standard output cannot be written to.
pub fn print(
    told: &impl Serialize,
    text: impl FnOnce() -> String,
    json: bool,
) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, told)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", text())?;
    }
    Ok(())
}
