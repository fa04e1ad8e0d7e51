//! `kirikae-lab sim`

use std::path::PathBuf;
use std::process::ExitCode;

use kirikae_simlab::sim::{self, Files, Format, Options};

use super::comparison::{self, Comparison};

/// Compare congestion controls in virtual time: seconds for what takes the real kernel hours
///
/// Simulates every contender of every scenario with the same packets lost, on all cores, and
/// prints the table that `kirikae-lab bench` prints; of scenarios with several flows, requests or bulk, a
/// table of goodput, share and fairness. Needs neither root nor BPF. The same files, seeds and version
/// give the same figures on every machine.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    comparison: Comparison,
    /// How often each contender is simulated, each time with the next seed, instead of what the
    /// scenarios say; every figure is then the mean of what each of them gave, with its interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: Option<u32>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Directory in which the run makes a directory of its own for its records; without it none are
    /// written
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Directory for packet captures: for each contender of each scenario one at the client and one
    /// at the server, as tcpdump would make them, without payload
    #[arg(long, value_name = "DIRECTORY")]
    pcapng: Option<PathBuf>,
    /// Directory for a table for each contender of each scenario: the sender's window, round-trip
    /// time, timeout, segments in flight and more after each ACK
    #[arg(long, value_name = "DIRECTORY")]
    trace: Option<PathBuf>,
    /// How the tables are written
    #[arg(long, value_name = "FORMAT", default_value = "csv", requires = "trace")]
    trace_format: TraceFormat,
    /// Directory for a picture (SVG) for each contender of each scenario: window, queue, latencies and
    /// algorithm over time
    #[arg(long, value_name = "DIRECTORY")]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum TraceFormat {
    Csv,
    Parquet,
}

impl Arguments {
    fn files(&self) -> Files {
        let format = match self.trace_format {
            TraceFormat::Csv => Format::Csv,
            TraceFormat::Parquet => Format::Parquet,
        };
        Files {
            packets: self.pcapng.clone(),
            trace: self.trace.clone().map(|directory| (directory, format)),
            plot: self.plot.clone(),
        }
    }
}

/// Runs the comparison.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut scenarios = arguments.comparison.scenarios()?;
    for scenario in &mut scenarios {
        scenario.repetitions = arguments.repetitions.unwrap_or(scenario.repetitions);
    }
    let controls = arguments.comparison.controls()?;
    let (output, files) = (arguments.output.clone(), arguments.files());
    let outcome = sim::run(&scenarios, &Options { output, files, controls })?;
    comparison::print_outcome(&outcome, arguments.json)?;
    Ok(ExitCode::SUCCESS)
}
