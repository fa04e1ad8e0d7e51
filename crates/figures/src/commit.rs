//! The commit for which values are kept.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;

/// What has to be committed, since it makes the values.
const SOURCES: [&str; 4] = ["bpf", "crates", "tables", "Cargo.lock"];

/// The present commit of the repository at `root`, abbreviated.
///
/// # Errors
/// Sources that are not committed; where git fails.
pub fn present(root: &Path) -> anyhow::Result<String> {
    let changed = git(root, &[&["status", "--porcelain", "--"], &SOURCES[..]].concat())?;
    ensure!(
        changed.is_empty(),
        "values are kept for a commit, and these files are not committed:\n{}",
        changed.trim_end(),
    );
    Ok(git(root, &["rev-parse", "--short=10", "HEAD"])?.trim().to_owned())
}

fn git(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let called = Command::new("git").current_dir(root).args(arguments).output()?;
    let said = String::from_utf8_lossy(&called.stderr).trim().to_owned();
    ensure!(called.status.success(), "git {}: {said}", arguments.join(" "));
    Ok(String::from_utf8(called.stdout)?)
}
