//! `kirikae-lab search`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_algorithms::Algorithm;
use kirikae_command::{Choice, print};
use kirikae_policy::WarmStart;
use kirikae_scenario::{Contender, Controls};
use kirikae_simlab::search::{self, Options, Report};
use kirikae_simlab::shards::Shard;
use kirikae_terminal::colour_wanted;

use super::characterize::shard_text;

/// Search for paths on which kirikae loses: thousands drawn at random, and uphill from the worst
///
/// Draws paths and what is written on them, steady and changing (docs/search.md says from what), and
/// compares the mean latency of kirikae with that of stock cubic in virtual time, on all cores. What
/// looks bad is played again with other losses; from the worst it climbs, changing a number at a time;
/// and what still loses with seeds that had no part in choosing it is a find. Finds are made simple as
/// long as they lose, and written as scenario files that `kirikae-lab sim` plays with the same result.
///
/// The same seed and count give the same finds on every machine. On Ctrl-C it reports what it has. With --shard 1/n
/// to n/n, on as many machines, the drawn paths are played in parts; `kirikae-lab merge` climbs from the worst of
/// all, and reports and writes the same. A shard keeps what is finished in FILE.partial: after an interruption
/// the same command goes on from there.
/// Exit status 1 where something was found, or it was interrupted; 0 where nothing was, or a shard is written.
#[derive(clap::Args)]
pub struct Arguments {
    /// Seed of everything that is drawn
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
    /// How many paths are drawn
    #[arg(long, value_name = "PATHS", default_value = "10000",
          value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    count: u64,
    /// From how many of the worst it climbs; 0: from none
    #[arg(long, value_name = "PATHS", default_value = "16",
          value_parser = clap::value_parser!(u16).range(0..=1000))]
    climbs: u16,
    /// Whom kirikae is held against: a contender or, with several such as cubic,kk_hybla, the best of
    /// them on each path. With bbr alone it is on a host whose own is bbr, else on one of cubic
    #[arg(long, value_name = "CONTENDER,...", default_value = "cubic", value_parser = than)]
    than: Than,
    /// Each burst on a new connection, which begins in this way where its path is known: none, careful or
    /// first-flight
    #[arg(long, value_name = "START", value_parser = start)]
    new_connections: Option<WarmStart>,
    /// Ratio of mean latencies from which on kirikae loses
    #[arg(long, value_name = "RATIO", default_value = "1.10", value_parser = loss)]
    loss: f64,
    /// Directory for the finds, new or empty, without which none are written; or the shard's file, which is replaced
    #[arg(long, value_name = "DIRECTORY|FILE", conflicts_with = "only")]
    output: Option<PathBuf>,
    /// Play the i-th (from 1) of n parts of the drawn paths, for `kirikae-lab merge`
    #[arg(long, value_name = "i/n", requires = "output", conflicts_with = "only")]
    shard: Option<Shard>,
    /// Search nothing: print the path drawn with this index (from 0) as a scenario file
    #[arg(long, value_name = "INDEX", conflicts_with_all = ["json", "count", "climbs"])]
    only: Option<u64>,
    #[command(flatten)]
    choice: Choice,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone)]
struct Than(Vec<Contender>);

fn than(text: &str) -> Result<Than, String> {
    let than = Contender::list(text)?;
    match than.iter().copied().any(Contender::is_kirikae) {
        true => Err("kirikae is who is held against them; allowed: any others".into()),
        false => Ok(Than(than)),
    }
}

fn start(text: &str) -> Result<WarmStart, String> {
    let start = WarmStart::ALL.into_iter().find(|start| start.name() == text);
    start.ok_or_else(|| format!("allowed: {}", WarmStart::ALL.map(WarmStart::name).join(", ")))
}

fn loss(text: &str) -> Result<f64, String> {
    const ALLOWED: &str = "allowed: a number above 1, up to 100, such as 1.10";
    let loss = text.parse().ok().filter(|loss| *loss > 1.0 && *loss <= 100.0);
    loss.ok_or_else(|| ALLOWED.into())
}

/// Searches, or prints one path.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Than(than) = arguments.than.clone();
    let options = Options {
        seed: arguments.seed,
        count: arguments.count,
        climbs: arguments.climbs.into(),
        generations: search::GENERATIONS,
        than,
        new_connections: arguments.new_connections,
        loss: arguments.loss,
        output: arguments.output.clone(),
        controls: controls(&arguments.choice)?,
    };
    if let Some(index) = arguments.only {
        write!(io::stdout().lock(), "{}", search::only(&options, index)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let (Some(shard), Some(output)) = (arguments.shard, &arguments.output) {
        let report = search::run_shard(&options, shard, output)?;
        print(&report, || shard_text(&report, "paths", output), arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    tell(&search::run(&options)?, arguments.json)
}

/// What the contenders are made of.
pub(super) fn controls(choice: &Choice) -> anyhow::Result<Controls> {
    let algorithms = Algorithm::all().collect();
    Ok(Controls { algorithms, table: choice.kernel_table()?, ..Controls::default() })
}

/// Prints what was found.
pub(super) fn tell(report: &Report, json: bool) -> anyhow::Result<ExitCode> {
    print(report, || search::render(report, colour_wanted()), json)?;
    let nothing = report.finds.is_empty() && !report.interrupted;
    Ok(if nothing { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
