//! Instants and durations, kept apart by type.

use std::fmt;
use std::num::TryFromIntError;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant: nanoseconds since the path's start (584 years fit).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

/// A duration in nanoseconds, never negative (584 years fit).
///
/// # Panics
/// Sums and products of more than 584 years panic.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(u64);

impl Time {
    /// The path's start.
    pub const ZERO: Time = Time(0);

    /// The instant `nanos` nanoseconds after the path's start.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the path's start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The earlier of two times, each of which may be None.
    #[inline]
    pub fn earliest(one: Option<Time>, other: Option<Time>) -> Option<Time> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            _ => one.or(other),
        }
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Span {
        Span(nanos)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Span {
        Span(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Span {
        Span(secs * 1_000_000_000)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds, rounded to the nearest `f64`.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Span> for Time {
    type Output = Time;

    fn add(self, span: Span) -> Time {
        Time(self.0.checked_add(span.0).expect("time stays below 584 years"))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// The span since an earlier instant; panics if that one is later, since time does not go back.
impl Sub for Time {
    type Output = Span;

    fn sub(self, earlier: Time) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("time does not go back"))
    }
}

impl Add for Span {
    type Output = Span;

    fn add(self, other: Span) -> Span {
        Span(self.0.checked_add(other.0).expect("a span stays below 584 years"))
    }
}

impl Mul<u64> for Span {
    type Output = Span;

    fn mul(self, times: u64) -> Span {
        Span(self.0.checked_mul(times).expect("a span stays below 584 years"))
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_nanos(span.0)
    }
}

/// Fails for durations of more than 584 years.
impl TryFrom<Duration> for Span {
    type Error = TryFromIntError;

    fn try_from(duration: Duration) -> Result<Span, TryFromIntError> {
        u64::try_from(duration.as_nanos()).map(Span)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Span(self.0))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_to_and_from_std_durations() {
        let span = Span::from_millis(1_500);
        assert_eq!(Duration::from(span), Duration::from_millis(1_500));
        assert_eq!(Span::try_from(Duration::from_millis(1_500)), Ok(span));
        assert!(Span::try_from(Duration::MAX).is_err());
        assert_eq!(span.to_string(), "1.500000000 s");
    }

    #[test]
    #[should_panic(expected = "time does not go back")]
    fn going_back_in_time_panics() {
        let _ = Time::from_nanos(1) - Time::from_nanos(2);
    }
}
