//! Figures of the real kernel, which nobody can make again in a test: they say by which command, at which
//! commit and on which kernel they were measured.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::target::text_behind;

/// Documents with such figures.
pub const DOCUMENTS: &[&str] = &[
    "README.md",
    "docs/agent.md",
    "docs/agreement.md",
    "docs/conformance.md",
    "docs/doctor.md",
    "docs/fit.md",
    "docs/gateway.md",
    "docs/measurements.md",
    "docs/regret.md",
    "docs/simulator.md",
    "docs/studies.md",
    "docs/timeouts.md",
];

/// A line `<!-- measured: COMMAND; commit HASH; ON -->` above figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The document.
    pub file: &'static str,
    /// Its line, from 1.
    pub line: usize,
    /// What was called.
    pub command: String,
    /// The commit of the sources, abbreviated.
    pub commit: String,
    /// What it ran on, such as `Linux 6.18`.
    pub on: String,
}

const BEGIN: &str = "<!-- measured: ";

/// All of them.
///
/// # Errors
/// A document that cannot be read, or has none; a line that says less.
pub fn measured(root: &Path) -> anyhow::Result<Vec<Measured>> {
    let mut all = Vec::new();
    for &file in DOCUMENTS {
        let text = fs::read_to_string(root.join(file)).with_context(|| file.to_owned())?;
        let found = (1..).zip(text.lines()).filter(|(_, line)| line.starts_with(BEGIN));
        let before = all.len();
        for (line, comment) in found {
            let read = read(file, line, comment);
            all.push(read.with_context(|| {
                format!("{file}:{line}: allowed: `{BEGIN}COMMAND; commit HASH; WHAT IT RAN ON -->`")
            })?);
        }
        ensure!(all.len() > before, "{file}: no figures say `{BEGIN}...`");
    }
    Ok(all)
}

fn read(file: &'static str, line: usize, comment: &str) -> Option<Measured> {
    let (command, rest) = text_behind(comment, BEGIN)?.split_once("; commit ")?;
    let (commit, on) = rest.split_once("; ")?;
    let is_hash = commit.len() >= 7 && commit.chars().all(|it| it.is_ascii_hexdigit());
    let on = is_hash.then(|| on.to_owned())?;
    Some(Measured { file, line, command: command.into(), commit: commit.into(), on })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_command_commit_and_kernel() {
        let read = |comment: &str| read("x.md", 3, comment);
        let found = read("<!-- measured: kirikae bench; commit 0123abc; Linux 6.18 -->").unwrap();
        assert_eq!((&*found.command, &*found.commit), ("kirikae bench", "0123abc"));
        assert_eq!(found.on, "Linux 6.18");
        for bad in ["kirikae bench; Linux 6.18", "x; commit today; Linux 6.18", "x; commit 0123abc"]
        {
            let comment = format!("{BEGIN}{bad} -->");
            assert_eq!(read(&comment), None, "{bad}");
        }
    }
}
