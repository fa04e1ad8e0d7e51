//! What other programs print.

use std::process::Command;

use anyhow::{Context, bail};

/// What a command prints; an error where it fails.
pub fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| {
        format!("running {program} (`scripts/install-missing guest` installs what is missing)")
    })?;
    if !output.status.success() {
        bail!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}
