//! Reads text files of recordings, with one entry a line.

use thiserror::Error;

use crate::Span;

/// A wrong line of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: found {found}; allowed: {allowed}")]
pub struct BadLine {
    /// The line's number in the file, from 1.
    pub line: usize,
    /// The text of the line.
    pub found: String,
    /// A description of what is allowed there.
    pub allowed: &'static str,
}

/// The entries with the numbers of their lines, without empty lines and those that begin with `#`.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let trimmed = text.lines().map(str::trim).enumerate().map(|(n, line)| (n + 1, line));
    trimmed.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Parses a time in milliseconds, with or without decimals, that is not longer than `most`.
pub fn millis(text: &str, most: Span) -> Option<Span> {
    let millis: f64 = text.parse().ok()?;
    let fits = (0.0..=most.as_secs_f64() * 1e3).contains(&millis);
    fits.then(|| Span::from_nanos((millis * 1e6).round() as u64))
}
