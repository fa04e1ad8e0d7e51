//! `generate stale` says what is stale; `generate tables`, `rest` or names of steps make it again;
//! `generate measure BLOCK` calls what measures on the real kernel. See CONTRIBUTING.md, and `make stale` and
//! `make regenerate`.

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, bail};
use kirikae_generate::{STEPS, Step, TABLES, measure, measured, root};

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (tables, rest) = STEPS.split_at(TABLES);
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stale"] => stale(),
        ["tables"] => make_stale(tables),
        ["rest"] => make_stale(rest),
        ["measure", block] => measure(&root(), block).map(|()| ExitCode::SUCCESS),
        [] => bail!("what? allowed: stale, tables, rest, measure BLOCK, or some of {}", names()),
        wanted => {
            for name in wanted {
                let step = STEPS.iter().find(|step| step.name == *name);
                make(step.with_context(|| format!("no step {name}; allowed: {}", names()))?)?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn names() -> String {
    STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join(", ")
}

/// Steps of which nothing is stale are passed over, so that an interrupted run goes on with the next one.
fn make_stale(steps: &[Step]) -> anyhow::Result<ExitCode> {
    for step in steps {
        if step.stale()?.is_empty() {
            eprintln!("{}: nothing is stale", step.name);
        } else {
            make(step)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn make(step: &Step) -> anyhow::Result<()> {
    let targets: Vec<String> = step.targets.iter().map(ToString::to_string).collect();
    eprintln!("{}: making {}", step.name, targets.join(", "));
    let began = Instant::now();
    step.run().with_context(|| step.name)?;
    eprintln!("{}: made in {:.0} s", step.name, began.elapsed().as_secs_f64());
    Ok(())
}

/// What was made from other sources than there are now, with the command that makes it; and what was
/// measured on a kernel, with the commit. Exit status 1 where something is stale.
fn stale() -> anyhow::Result<ExitCode> {
    let mut any = false;
    for step in STEPS {
        for stale in step.stale()? {
            any = true;
            println!("{}: {}", stale.target, stale.differences.join("; "));
            println!("    {}", step.command());
        }
    }
    println!("Measured, not generated:");
    for it in measured(&root())? {
        let since = commits_since(&it.commit)
            .map_or(String::new(), |n| format!(", {n} commits to the sources since"));
        println!("{}:{}: commit {}{since}; {}", it.file, it.line, it.commit, it.on);
        println!("    {}", it.command);
    }
    Ok(if any { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Of those that touched what is run, where git can tell.
fn commits_since(commit: &str) -> Option<u32> {
    let counted = Command::new("git")
        .current_dir(root())
        .args(["rev-list", "--count", &format!("{commit}..HEAD"), "--", "bpf", "crates", "tables"])
        .output()
        .ok()?;
    String::from_utf8(counted.stdout).ok()?.trim().parse().ok()
}
