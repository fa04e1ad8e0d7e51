//! Refuses values that are out of their range.

use std::fmt;

use crate::Span;

/// One value of an element that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unfit {
    /// Its name in a scenario file.
    pub field: String,
    pub found: String,
    pub allowed: &'static str,
}

impl Unfit {
    /// The same error, with its field as a part of `field`.
    pub fn within(self, field: &str) -> Unfit {
        Unfit { field: format!("{field}.{}", self.field), ..self }
    }
}

/// Refuses `found` in `field` unless it `fits`.
pub(crate) fn check(
    fits: bool,
    field: &str,
    found: impl fmt::Display,
    allowed: &'static str,
) -> Result<(), Unfit> {
    if fits {
        Ok(())
    } else {
        Err(Unfit { field: field.into(), found: found.to_string(), allowed })
    }
}

pub(crate) fn probability(field: &str, value: f64) -> Result<(), Unfit> {
    check((0.0..=1.0).contains(&value), field, value, "a probability from 0 to 1")
}

/// Checks a probability of loss.
pub(crate) fn loss(field: &str, value: f64) -> Result<(), Unfit> {
    probability(field, value)?;
    check(value < 1.0, field, value, "below 1, so that something is delivered")
}

pub(crate) fn rate(field: &str, bits_per_second: u64) -> Result<(), Unfit> {
    check(bits_per_second > 0, field, format_args!("{bits_per_second} bit/s"), "at least 1 bit/s")
}

pub(crate) fn positive(field: &str, span: Span) -> Result<(), Unfit> {
    check(span > Span::ZERO, field, span, "longer than 0 s")
}

/// Checks a delay. One of more than a day can only be a wrong unit.
pub(crate) fn delay(field: &str, span: Span) -> Result<(), Unfit> {
    check(span <= Span::from_secs(24 * 3600), field, span, "at most a day")
}
