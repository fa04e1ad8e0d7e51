//! Which algorithms may be chosen: how much harm to other traffic is accepted.
//!
//! A friendliness is limits on what was measured ([`Figure`]), not a list; docs/friendliness.md tells
//! why the limits are what they are.

mod figures;

use std::fmt;

pub use figures::{Figure, Measure, measured, to_text};

use crate::latency_table::LatencyTable;

/// How much harm to competing stock cubic and reno is accepted for lower latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Friendliness {
    /// Competitors keep half of their fair share or more on every path measured, and Reno's response
    /// takes over under heavy loss.
    Friendly,
    /// In bulk, competitors keep half of their fair share or more in the mean, and a quarter on every
    /// path; a burst is short, and takes whatever answers soonest.
    #[default]
    Balanced,
    /// Whatever answers soonest.
    Fast,
}

/// What an algorithm has to keep to.
struct Limits {
    /// Least mean share of its fair share that any competitor keeps.
    mean: f64,
    /// Least share on the worst path.
    worst: f64,
    /// Highest goodput on any path of heavy loss, in times stock reno's.
    heavy_loss: f64,
}

impl Friendliness {
    /// All of them, the most careful one first.
    pub const ALL: [Friendliness; 3] =
        [Friendliness::Friendly, Friendliness::Balanced, Friendliness::Fast];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Friendliness::Friendly => "friendly",
            Friendliness::Balanced => "balanced",
            Friendliness::Fast => "fast",
        }
    }

    fn limits(self) -> Option<Limits> {
        match self {
            Friendliness::Friendly => Some(Limits { mean: 0.5, worst: 0.5, heavy_loss: 2.0 }),
            Friendliness::Balanced => {
                Some(Limits { mean: 0.5, worst: 0.25, heavy_loss: f64::INFINITY })
            }
            Friendliness::Fast => None,
        }
    }

    /// Whether it lets an algorithm be chosen, by its in-kernel name; [`Friendliness::Balanced`]: for bulk.
    /// What was not measured only [`Friendliness::Fast`] does.
    pub fn allows(self, algorithm: &str) -> bool {
        let Some(limits) = self.limits() else { return true };
        let mut figures =
            measured().iter().filter(|figure| figure.algorithm == algorithm).peekable();
        figures.peek().is_some() && figures.all(|figure| limits.hold(figure))
    }

    /// A table with those candidates that it allows, and with what it does not allow for bulk last
    /// there.
    ///
    /// # Errors
    /// Where it allows none.
    pub fn apply(self, table: &LatencyTable) -> Result<LatencyTable, NoCandidate> {
        let names = table.algorithms.iter().map(String::as_str);
        let allowed: Vec<&str> = names.filter(|name| self.allows(name)).collect();
        if allowed.is_empty() {
            return Err(NoCandidate { friendliness: self, candidates: table.algorithms.clone() });
        }
        Ok(match self {
            Friendliness::Friendly => table.restricted(&allowed),
            Friendliness::Balanced => table.last_in_bulk(|name| !allowed.contains(&name)),
            Friendliness::Fast => table.clone(),
        })
    }
}

impl Limits {
    fn hold(&self, figure: &Figure) -> bool {
        match figure.measure {
            Measure::HeavyLoss => figure.worst <= self.heavy_loss,
            Measure::Cubic1 | Measure::Cubic4 | Measure::Reno1 | Measure::Reno4 => {
                figure.mean >= self.mean && figure.worst >= self.worst
            }
            Measure::Alike2 | Measure::Alike4 | Measure::Alike8 => true,
        }
    }
}

impl fmt::Display for Friendliness {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A friendliness allows none of a table's candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCandidate {
    friendliness: Friendliness,
    candidates: Vec<String>,
}

impl std::error::Error for NoCandidate {}

impl fmt::Display for NoCandidate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let NoCandidate { friendliness, candidates } = self;
        let ours = measured().iter().filter(|figure| figure.measure == Measure::HeavyLoss);
        let ours = ours.map(|figure| figure.algorithm.as_str()).filter(|it| it.starts_with("kk_"));
        let allowed: Vec<&str> = ours.filter(|name| friendliness.allows(name)).collect();
        write!(
            f,
            "friendliness {friendliness}: found only {}; allowed: {}",
            candidates.join(", "),
            allowed.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(friendliness: Friendliness) -> Vec<&'static str> {
        let figures = measured().iter().filter(|figure| figure.measure == Measure::HeavyLoss);
        figures.map(|figure| &*figure.algorithm).filter(|name| friendliness.allows(name)).collect()
    }

    #[test]
    fn each_allows_what_the_more_careful_one_does_and_more() {
        let [friendly, balanced, fast] = Friendliness::ALL.map(allowed);
        assert!(friendly.iter().all(|name| balanced.contains(name)));
        assert!(friendly.len() < balanced.len() && balanced.len() < fast.len());
    }

    #[test]
    fn what_was_not_measured_is_only_fast() {
        assert_eq!(Friendliness::ALL.map(|it| it.allows("kk_new")), [false, false, true]);
    }
}
