//! `kirikae explain`

use std::process::ExitCode;
use std::time::Duration;

use kirikae_command::units::{probability, rate, rtt};
use kirikae_command::{Choice, print};
pub use kirikae_explanation::Unanswerable;
use kirikae_explanation::{Asked, Load};

/// Tell what would be chosen on a path, and what latency is expected of each candidate
///
/// Reads it from the latency table, between whose points it interpolates. What the switcher infers
/// from losses, loss rates and queue, is given here.
#[derive(clap::Args)]
pub struct Arguments {
    /// Round-trip time without waiting, such as 200ms
    #[arg(value_name = "RTT", value_parser = rtt)]
    rtt: Duration,
    /// Isolated losses: the share of the segments, such as 0.01 or 1%
    #[arg(value_name = "LOSS", value_parser = probability, default_value = "0")]
    loss: f64,
    /// Burst losses (runs of at least 3 segments): how many per segment, such as 0.001 or 0.1%
    #[arg(long, value_name = "LOSS", value_parser = probability, default_value = "0")]
    burst_loss: f64,
    /// Rate of the bottleneck
    #[arg(long, value_name = "MBIT/S", value_parser = rate, default_value = "10")]
    rate: f64,
    /// Packets that fit into the bottleneck's queue
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..),
          default_value = "100")]
    queue: u32,
    /// Bytes that the application writes at once
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..),
          default_value = "65536")]
    burst: u32,
    /// In place of bursts, what a program writes on and on, with no idle time in between, such as a
    /// screen at 30 frames a second
    #[arg(long, value_name = "MBIT/S", value_parser = rate, conflicts_with = "burst")]
    stream: Option<f64>,
    #[command(flatten)]
    choice: Choice,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Prints what the table says of the path.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let asked = Asked {
        rtt_s: arguments.rtt.as_secs_f64(),
        rate_mbit: arguments.rate,
        load: match arguments.stream {
            None => Load::Burst { burst_bytes: arguments.burst },
            Some(stream_mbit) => Load::Stream { stream_mbit },
        },
        loss: arguments.loss,
        burst_loss: arguments.burst_loss,
        queue: arguments.queue,
    };
    let explanation = kirikae_explanation::explain(&*arguments.choice.table()?, asked)?;
    print(&explanation, || kirikae_explanation::render(&explanation), arguments.json)?;
    Ok(ExitCode::SUCCESS)
}
