//! `kirikae-figures`, which `make figures` calls: plays all figures, tells how they are, and keeps them.

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Parser;
use kirikae_command::{exit, print};
use kirikae_figures::commit;
use kirikae_figures::kept::Kept;
use kirikae_figures::list::{self, Entry, Half};
use kirikae_figures::measured::Figure;
use kirikae_figures::play::play;
use kirikae_figures::report::Report;

/// The ledger of figures: what is wanted, what is, and what it was when it was last kept.
///
/// Exit status 1 where a figure is worse than it was by more than the noise of both, or has no value.
#[derive(Parser)]
#[command(name = "kirikae-figures", after_help = exit::HELP)]
struct Arguments {
    /// Play one half only
    #[arg(long, value_name = "HALF")]
    only: Option<Half>,
    /// Keep the values, as those of the present commit
    #[arg(long)]
    keep: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// What a bench calls to play
    #[command(subcommand)]
    player: Option<Player>,
}

#[derive(clap::Subcommand)]
enum Player {
    #[command(hide = true)]
    Player,
}

fn main() -> ExitCode {
    if let Some(status) = kirikae_agent::be_worker() {
        return status;
    }
    let arguments: Arguments = match exit::parse("kirikae-figures") {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let done = match arguments.player {
        Some(Player::Player) => {
            kirikae_bench::player::run().map(|()| ExitCode::SUCCESS).map_err(Into::into)
        }
        None => run(&arguments),
    };
    done.unwrap_or_else(|error| exit::report("kirikae-figures", &error, status))
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = root.join("scenarios/figures");
    let entries = list::read(&directory.join("figures.toml"))?;
    let mut kept = Kept::read(&directory.join("kept.csv"))?;
    let commit = arguments.keep.then(|| commit::present(&root)).transpose()?;
    let mut figures: Vec<Figure> = Vec::new();
    // The kernel's half first: where it cannot be played, that is known at once.
    for half in [Half::Kernel, Half::Simulated] {
        let own: Vec<&Entry> = entries.iter().filter(|entry| entry.half == half).collect();
        if arguments.only.is_none_or(|only| only == half) && !own.is_empty() {
            figures.extend(play(half, &own, &root.join("results"))?);
        }
    }
    let report = Report::of(&figures, &kept);
    if let Some(commit) = commit {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        kept.keep(&commit, &now[..10], &figures)?;
    }
    print(&report, || report.text(), arguments.json)?;
    Ok(if report.failing > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn status(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<kirikae_results::Error>() {
        return error.exit_status();
    }
    if let Some(error) = error.downcast_ref::<kirikae_bench::Error>() {
        return error.exit_status();
    }
    if exit::is_wrong_input(error) { 2 } else { 1 }
}
