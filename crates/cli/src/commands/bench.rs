//! `kirikae bench`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_algorithms::Algorithm;
use kirikae_lab::bench::{self, Options};
use kirikae_lab::scenario::Scenario;
use kirikae_lab::{report, summary::Summary};

use super::setting::{self, Setting};

/// Compare congestion controls on the real kernel over emulated paths
///
/// Runs every contender of every scenario at the same time, each on its own emulated path between
/// two network namespaces, with the same packets lost, and prints a table for each scenario.
/// Every burst, every switch and the scenario itself are written as records.
#[derive(clap::Args)]
pub struct Arguments {
    /// Scenario files; those in scenarios/ explain themselves
    #[arg(required = true, value_name = "SCENARIO.toml")]
    scenarios: Vec<PathBuf>,
    /// Directory in which the run makes a directory of its own for its records
    #[arg(long, value_name = "DIRECTORY", default_value = "results")]
    output: PathBuf,
    /// Set a parameter of an algorithm, such as kk_vegas.alpha=4, for all scenarios; `kirikae
    /// algorithms` lists them with their ranges. May be given several times
    #[arg(long, value_name = "ALGORITHM.PARAMETER=VALUE", value_parser = setting)]
    set: Vec<Setting>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

fn setting(text: &str) -> Result<Setting, String> {
    Setting::parse(text, Algorithm::all())
}

/// Runs the comparison.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let load = |file: &PathBuf| Scenario::load(file).map_err(kirikae_lab::Error::from);
    let scenarios = arguments.scenarios.iter().map(load).collect::<Result<Vec<_>, _>>()?;
    let options = Options {
        output: arguments.output.clone(),
        algorithms: setting::apply(&arguments.set, Algorithm::all())?,
    };
    let outcome = bench::run(&scenarios, &options)?;
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &Summary::of(&outcome))?;
        writeln!(out)?;
    } else {
        write!(out, "{}", report::render(&outcome, report::colour_wanted()))?;
    }
    Ok(if outcome.interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
