//! `kirikae doctor`

use std::process::ExitCode;
use std::time::Duration;

use kirikae_command::print;
use kirikae_command::units::{probability, rate, rtt};
use kirikae_doctor::{Destination, Host, Path, Report};
use kirikae_terminal::colour_wanted;

/// Tell what of this host limits throughput and latency on a path, by which formula, and what to change
///
/// Reads buffers, TCP's options and timers, the route, its interface and queue. With a destination it
/// looks at the connections there are to it, or at one that it opens and on which it sends nothing. A
/// line for each finding: what was measured, what follows for the path. Changes nothing; what could
/// not be read is said to be unknown. Needs no root.
///
/// Exit status 1 where something limits the path; 0 where nothing does; 2 for a destination that is
/// none, to which there is no route, or that does not answer.
#[derive(clap::Args)]
pub struct Arguments {
    /// Whose connections to look at: HOST; or HOST:PORT, to which one is opened
    #[arg(value_name = "DESTINATION")]
    destination: Option<Destination>,
    /// What the path's bottleneck carries [default: 100]
    #[arg(long, value_name = "MBIT/S", value_parser = rate)]
    rate: Option<f64>,
    /// Round-trip time without waiting, such as 200ms [default: as measured, else 100ms]
    #[arg(long, value_name = "RTT", value_parser = rtt)]
    rtt: Option<Duration>,
    /// Isolated losses: the share of the segments, such as 0.01 or 1% [default: as measured, if there
    /// was enough to measure]
    #[arg(long, value_name = "LOSS", value_parser = probability)]
    loss: Option<f64>,
    /// Bytes that an application writes at once where latency counts
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..),
          default_value = "65536")]
    burst: u32,
    /// Print as JSON, with everything that was read
    #[arg(long)]
    json: bool,
}

/// Examines the host and prints what it found.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let seen = arguments.destination.as_ref().map(Destination::look).transpose()?;
    let (address, connections) =
        seen.map_or((None, Vec::new()), |seen| (Some(seen.address), seen.connections));
    let path = Path::new(
        arguments.rate.map(|mbit| mbit * 1e6),
        arguments.rtt.map(|rtt| rtt.as_secs_f64()),
        arguments.loss,
        arguments.burst,
        &connections,
    );
    let report: Report = kirikae_doctor::examine(Host::read(address), path, connections);
    print(&report, || kirikae_doctor::render(&report, colour_wanted()), arguments.json)?;
    Ok(if report.limits() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
