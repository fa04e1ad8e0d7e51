//! `kirikae explain`

use std::process::ExitCode;
use std::time::Duration;

use kirikae_lab::explain::{self, Asked};

use super::comparison;
use super::table::Choice;

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
    #[command(flatten)]
    choice: Choice,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

fn rtt(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if (Duration::from_micros(1)..=Duration::from_secs(4)).contains(&time) => Ok(time),
        _ => Err("allowed: a time from 1us to 4s with its unit".into()),
    }
}

fn probability(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
    match number.0.parse::<f64>().map(|value| value / number.1) {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("allowed: a share from 0 to 1, or a percentage such as 1%".into()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.01..=100_000.0).contains(&rate) => Ok(rate),
        _ => Err("allowed: a number of Mbit/s from 0.01 to 100000".into()),
    }
}

/// Explains.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let asked = Asked {
        rtt_s: arguments.rtt.as_secs_f64(),
        rate_mbit: arguments.rate,
        burst_bytes: arguments.burst,
        loss: arguments.loss,
        burst_loss: arguments.burst_loss,
        queue: arguments.queue,
    };
    let explanation = explain::explain(&*arguments.choice.table()?, asked);
    comparison::print(&explanation, || explain::render(&explanation), arguments.json)?;
    Ok(ExitCode::SUCCESS)
}
