//! What is wanted of a figure.

use std::fmt;

use serde::{Serialize, Serializer};

/// A bound: what a value is to be, and so which way is worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The value is at most this; more is worse.
    AtMost(f64),
    /// The value is at least this; less is worse.
    AtLeast(f64),
}

impl Bound {
    /// Whether the value is as wanted.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
        }
    }

    /// How much worse the first value is than the second; negative where it is better.
    pub fn worse_by(self, value: f64, than: f64) -> f64 {
        match self {
            Bound::AtMost(_) => value - than,
            Bound::AtLeast(_) => than - value,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtMost(most) => write!(f, "≤{most}"),
            Bound::AtLeast(least) => write!(f, "≥{least}"),
        }
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
