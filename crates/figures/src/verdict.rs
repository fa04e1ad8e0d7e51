//! A figure beside what it was, and beside what is wanted.

use crate::kept::Kept;
use crate::measured::{Figure, Value};

/// The least that counts as noise: values are kept with four decimals, and few repetitions that agree by chance
/// have an interval that is too narrow.
const LEAST_NOISE: f64 = 0.005;
/// The most that counts as noise, as a share of what a figure was. What a rare repetition does that takes a
/// hundred times as long is a fall, although it makes the interval as wide as the fall is deep.
const MOST_NOISE: f64 = 1.0 / 3.0;

/// What became of a figure since it was last kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Worse by more than the noise of both values.
    Worse,
    /// Better by more than that.
    Better,
    /// Neither.
    Same,
    /// It was not kept before.
    New,
    /// It has no value now.
    Unmeasured,
}

impl Verdict {
    /// Compares a value with what it was.
    pub fn of(figure: &Figure, kept: &Kept) -> Verdict {
        match (&figure.value, kept.last(&figure.name)) {
            (Err(_), _) => Verdict::Unmeasured,
            (Ok(_), None) => Verdict::New,
            (Ok(now), Some((_, was))) => {
                let worse_by = figure.bound.worse_by(now.value, was.value);
                let noise = noise(*now, was);
                if worse_by > noise {
                    Verdict::Worse
                } else if worse_by < -noise {
                    Verdict::Better
                } else {
                    Verdict::Same
                }
            }
        }
    }

    /// Whether a run with such a figure fails.
    pub fn fails(self) -> bool {
        matches!(self, Verdict::Worse | Verdict::Unmeasured)
    }
}

fn noise(now: Value, was: Value) -> f64 {
    (now.half_width + was.half_width).min(was.value * MOST_NOISE).max(LEAST_NOISE)
}
