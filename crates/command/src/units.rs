//! Quantities as they are given on the command line.

use std::time::Duration;

/// Parses a round-trip time.
pub fn rtt(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if (Duration::from_micros(1)..=Duration::from_secs(4)).contains(&time) => Ok(time),
        _ => Err("allowed: a time from 1us to 4s with its unit".into()),
    }
}

/// Parses a share (0 to 1) or a percentage.
pub fn probability(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
    match number.0.parse::<f64>().map(|value| value / number.1) {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("allowed: a share from 0 to 1, or a percentage such as 1%".into()),
    }
}

/// Parses a rate in Mbit/s.
pub fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.01..=100_000.0).contains(&rate) => Ok(rate),
        _ => Err("allowed: a number of Mbit/s from 0.01 to 100000".into()),
    }
}
