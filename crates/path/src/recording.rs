//! Text files of what was recorded: one entry a line.

use thiserror::Error;

use crate::Span;

/// A line of a recording that is not one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: found {found}; allowed: {allowed}")]
pub struct BadLine {
    /// The line's number in the file, from 1.
    pub line: usize,
    /// What stands there.
    pub found: String,
    /// What may stand there.
    pub allowed: &'static str,
}

/// The entries with their lines' numbers; empty lines and those that begin with `#` are none.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let trimmed = text.lines().map(str::trim).enumerate().map(|(n, line)| (n + 1, line));
    trimmed.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// A time in milliseconds, with or without decimals, that is not longer than `most`.
pub fn millis(text: &str, most: Span) -> Option<Span> {
    let millis: f64 = text.parse().ok()?;
    let fits = (0.0..=most.as_secs_f64() * 1e3).contains(&millis);
    fits.then(|| Span::from_nanos((millis * 1e6).round() as u64))
}
