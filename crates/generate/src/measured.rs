//! Figures of the real kernel, which nobody can make again in a test: they say by which command, at which
//! commit and on which kernel they were measured.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::target::text_behind;

/// Documents with such figures.
pub const DOCUMENTS: &[&str] = &[
    "README.md",
    "docs/agent.md",
    "docs/agreement.md",
    "docs/conformance.md",
    "docs/coverage.md",
    "docs/doctor.md",
    "docs/fit.md",
    "docs/gateway.md",
    "docs/kernels.md",
    "docs/lockstep.md",
    "docs/measurements.md",
    "docs/regret.md",
    "docs/simulator.md",
    "docs/studies.md",
    "docs/timeouts.md",
];

/// A line `<!-- measured: COMMAND; commit HASH; ON -->` above figures. Where what the command prints is in the
/// document as it is, the line is `<!-- measured NAME: ...` and a line `<!-- end NAME -->` is behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The document.
    pub file: &'static str,
    /// Its line, from 1.
    pub line: usize,
    /// Of a block with what the command prints.
    pub name: Option<String>,
    /// What was called.
    pub command: String,
    /// The commit of the sources, abbreviated.
    pub commit: String,
    /// What it ran on, such as `Linux 6.18`.
    pub on: String,
}

const BEGIN: &str = "<!-- measured";

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
                format!(
                    "{file}:{line}: allowed: `{BEGIN}: COMMAND; commit HASH; WHAT IT RAN ON -->`"
                )
            })?);
        }
        ensure!(all.len() > before, "{file}: no figures say `{BEGIN}: ...`");
    }
    Ok(all)
}

fn read(file: &'static str, line: usize, comment: &str) -> Option<Measured> {
    let (name, rest) = text_behind(comment, BEGIN)?.split_once(": ")?;
    let (command, rest) = rest.split_once("; commit ")?;
    let (commit, on) = rest.split_once("; ")?;
    let is_hash = commit.len() >= 7 && commit.chars().all(|it| it.is_ascii_hexdigit());
    let (command, on) = is_hash.then(|| (command.to_owned(), on.to_owned()))?;
    let name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    Some(Measured { file, line, name, command, commit: commit.into(), on })
}

/// Calls the command of a block and puts there what it prints, and the commit and the kernel.
///
/// # Errors
/// Sources that are no commit's; a command that fails otherwise than by its figures (status 1).
pub fn measure(root: &Path, block: &str) -> anyhow::Result<()> {
    let all = measured(root)?;
    let known = all.iter().find(|it| it.name.as_deref() == Some(block));
    let known = known.with_context(|| {
        let names: Vec<&str> = all.iter().filter_map(|it| it.name.as_deref()).collect();
        format!("no block {block} is measured; allowed: {}", names.join(", "))
    })?;
    let changed = output(root, "git status --porcelain --untracked-files=no", 0)?;
    ensure!(changed.is_empty(), "files that are not committed:\n{changed}");
    let (commit, release) =
        (output(root, "git rev-parse --short HEAD", 0)?, output(root, "uname -r", 0)?);
    let release: Vec<&str> = release.splitn(3, '.').collect();
    let on = format!("Linux {}", release[..2.min(release.len())].join("."));
    let printed = output(root, &known.command, 1)?;
    put(root, known, commit.trim(), &on, &printed)
}

/// What a command prints; a status above `most` is an error.
fn output(root: &Path, command: &str, most: i32) -> anyhow::Result<String> {
    let mut shell = Command::new("sh");
    let called = shell.current_dir(root).args(["-c", command]).stderr(Stdio::inherit()).output()?;
    let fine = called.status.code().is_some_and(|status| status <= most);
    ensure!(fine, "{command}: {}", called.status);
    Ok(String::from_utf8(called.stdout)?)
}

fn put(root: &Path, known: &Measured, commit: &str, on: &str, printed: &str) -> anyhow::Result<()> {
    let document = fs::read_to_string(root.join(known.file))?;
    let name = known.name.as_deref().context("a block")?;
    let begin = format!("{BEGIN} {name}: ");
    let end = format!("<!-- end {name} -->");
    let (before, rest) = document.split_once(&begin).context("its first line")?;
    let (_, behind) = rest.split_once(&end).with_context(|| format!("`{end}` is missing"))?;
    let lines: String = printed.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
    let head = format!("{begin}{}; commit {commit}; {on} -->", known.command);
    let text = format!("{before}{head}\n```\n{lines}```\n{end}{behind}");
    fs::write(root.join(known.file), text).with_context(|| known.file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_command_commit_and_kernel() {
        let read = |comment: &str| read("x.md", 3, comment);
        let found =
            read("<!-- measured: kirikae-lab bench; commit 0123abc; Linux 6.18 -->").unwrap();
        assert_eq!((&*found.command, &*found.commit), ("kirikae-lab bench", "0123abc"));
        assert_eq!((&*found.on, found.name), ("Linux 6.18", None));
        let block = read("<!-- measured cells: x; commit 0123abc; Linux 6.18 -->").unwrap();
        assert_eq!(block.name.as_deref(), Some("cells"));
        for bad in
            ["kirikae-lab bench; Linux 6.18", "x; commit today; Linux 6.18", "x; commit 0123abc"]
        {
            let comment = format!("{BEGIN}: {bad} -->");
            assert_eq!(read(&comment), None, "{bad}");
        }
    }

    #[test]
    fn what_a_command_prints_takes_the_place_of_what_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let old = "A\n<!-- measured cells: echo; commit 0123abc; Linux 6.17 -->\nold\n<!-- end cells -->\nB\n";
        fs::write(directory.path().join("x.md"), old).unwrap();
        let known = read("x.md", 2, old.lines().nth(1).unwrap()).unwrap();
        put(directory.path(), &known, "4567def", "Linux 6.18", "a  \nb\n").unwrap();
        let new = "A\n<!-- measured cells: echo; commit 4567def; Linux 6.18 -->\n```\na\nb\n```\n<!-- end cells -->\nB\n";
        assert_eq!(fs::read_to_string(directory.path().join("x.md")).unwrap(), new);
    }
}
