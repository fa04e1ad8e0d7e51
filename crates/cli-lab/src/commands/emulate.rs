//! `kirikae-lab emulate`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_bench::emulate::{Emulated, emulate};
use kirikae_command::print;
use kirikae_scenario::Scenario;
use kirikae_vocabulary::{DirectionReport, Report};

/// Emulate the path of a scenario between two network namespaces, until Ctrl-C
///
/// Prints the two namespaces with their addresses, first the sender's, then the receiver's, as soon
/// as packets pass between them; `ip netns exec NAMESPACE COMMAND` runs a program in one. At the end
/// it tells what happened on the path, and nothing is left behind. What the scenario writes is not
/// written.
#[derive(clap::Args)]
pub struct Arguments {
    /// A scenario file of one scenario; those in scenarios/ explain themselves
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// Print what happened as JSON
    #[arg(long)]
    json: bool,
}

/// Emulates.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let scenarios = Scenario::load(&arguments.scenario).map_err(kirikae_results::Error::from)?;
    let [scenario] = &scenarios[..] else {
        return Err(kirikae_results::Error::Incompatible(format!(
            "{}: {} scenarios; allowed: one, so no sweep",
            arguments.scenario.display(),
            scenarios.len(),
        ))
        .into());
    };
    let mut printed = Ok(());
    let report = emulate(scenario, |emulated| printed = print_ends(emulated))?;
    printed?;
    print(&report, || render(&report), arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

fn print_ends(emulated: &Emulated) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for namespace in [emulated.sender(), emulated.receiver()] {
        writeln!(out, "{} {}", namespace.name(), namespace.address())?;
    }
    out.flush()
}

fn render(report: &Report) -> String {
    let direction = |name: &str, report: &DirectionReport| {
        let dropped: u64 = report.dropped.values().sum();
        format!("{name}: {} packets, {dropped} dropped\n", report.offered)
    };
    let mut text = direction("forward", &report.forward) + &direction("backward", &report.backward);
    if !report.held {
        text.push_str("The machine was too slow for this path: it was not the one described.\n");
    }
    text
}
