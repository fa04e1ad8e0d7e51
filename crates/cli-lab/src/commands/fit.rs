//! `kirikae-lab fit`

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use kirikae_command::print;
use kirikae_fit::losses::{self, Asked, Numbering, Report, Side};
use kirikae_terminal::colour_wanted;
use serde::Serialize;

/// Fit a loss element to a capture: Gilbert-Elliott parameters, with intervals, to paste into a scenario
///
/// Reads a pcap or pcapng file, takes the flow with the most data (TCP, or numbered UDP), tells which of its
/// packets were lost, and finds the channel that most likely did it; independent losses, and channels with
/// fewer parameters, are held against it. Prints the element as a scenario has it. docs/fit.md tells how
/// losses are told, and how exact it is.
///
/// Exit status 2 where the file is no capture, has no usable flow, or too little loss: it says which, with
/// the counts.
#[derive(clap::Args)]
pub struct Arguments {
    /// Capture as tcpdump or Wireshark writes it
    #[arg(value_name = "CAPTURE.pcapng")]
    capture: PathBuf,
    /// Only flows with this port at either end
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// At which end of a TCP connection it was made [default: what its segments tell]
    #[arg(long, value_name = "END")]
    at: Option<At>,
    /// Where datagrams have their number, big-endian: rtp, iperf2, iperf3, iperf3-64, or OFFSET:BITS, such as
    /// 0:32 [default: the first of these that goes on counting]
    #[arg(long, value_name = "PLACE")]
    number: Option<Numbering>,
    /// Draw lengths of runs and gaps, captured and fitted, into a file; one that is there is replaced
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print as JSON, the element included
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum At {
    Sender,
    Receiver,
}

/// The report, with what is to be pasted.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    report: &'a Report,
    element: String,
}

/// Fits.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let side = arguments.at.map(|at| match at {
        At::Sender => Side::Sender,
        At::Receiver => Side::Receiver,
    });
    let asked = Asked { port: arguments.port, side, numbering: arguments.number };
    let report = Report::of(&arguments.capture, &asked)?;
    if let Some(file) = &arguments.plot {
        fs::write(file, report.plot()).with_context(|| format!("writing {}", file.display()))?;
    }
    let told = Told { report: &report, element: losses::element(&report.fit) };
    print(&told, || losses::render(&report, colour_wanted()), arguments.json)?;
    Ok(ExitCode::SUCCESS)
}
