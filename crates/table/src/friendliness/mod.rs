//! Decides which algorithms may be chosen, by how much harm to other traffic is accepted.
//!
//! A friendliness is limits on what was measured ([`Figure`]), not a list; docs/friendliness.md tells
//! why the limits are what they are.

mod figures;

use std::fmt;

pub use figures::{Figure, Measure, measured, to_text};

use crate::latency_table::LatencyTable;

/// How much harm to competing stock cubic and reno is accepted for lower latency. The algorithm that a
/// connection came with does no harm that was not accepted before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Friendliness {
    /// Bulk keeps the algorithm that the connection came with. In bursts, competitors keep at least half of
    /// their fair share on every path measured, and under heavy loss the algorithm takes at most twice Reno's
    /// goodput.
    Friendly,
    /// Bulk keeps the algorithm that the connection came with. A burst is short, and takes whatever answers
    /// soonest.
    #[default]
    Balanced,
    /// Everything takes whatever answers soonest.
    Fast,
}

/// Limits on what an algorithm takes from others.
struct Limits {
    /// Least share of its fair share that competing stock cubic keeps: in the mean, and on the worst path.
    cubic: [f64; 2],
    /// The same of stock reno.
    reno: [f64; 2],
    /// Highest goodput on any path of heavy loss, in times stock reno's.
    heavy_loss: f64,
}

/// The limits for bursts under `friendly`.
const BURSTS: Limits = Limits { cubic: [0.5, 0.5], reno: [0.5, 0.5], heavy_loss: 2.0 };

/// The limits for bulk under `balanced`, if a table has no column for what a connection came with.
const BULK: Limits = Limits { cubic: [0.5, 0.25], reno: [0.5, 0.25], heavy_loss: f64::INFINITY };

impl Friendliness {
    /// All values, the most careful one first.
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

    /// Whether an algorithm may be chosen for bulk, by its in-kernel name, if the table has no column for
    /// what a connection came with. Only [`Friendliness::Fast`] allows an algorithm that was not measured.
    pub fn allows_in_bulk(self, algorithm: &str) -> bool {
        match self {
            Friendliness::Friendly => BURSTS.hold_for(algorithm),
            Friendliness::Balanced => BULK.hold_for(algorithm),
            Friendliness::Fast => true,
        }
    }

    /// Whether an algorithm may be chosen for bursts.
    pub fn allows(self, algorithm: &str) -> bool {
        match self {
            Friendliness::Friendly => BURSTS.hold_for(algorithm),
            Friendliness::Balanced | Friendliness::Fast => true,
        }
    }

    /// The table with only the candidates that are allowed. Those that are not allowed in bulk are barred
    /// there; if the table has a column for what a connection came with, these are all others.
    ///
    /// # Errors
    /// Fails if no candidate is allowed.
    pub fn apply(self, table: &LatencyTable) -> Result<LatencyTable, NoCandidate> {
        let all = || table.algorithms.iter();
        let allowed: Vec<&str> =
            all().map(String::as_str).filter(|name| self.allows(name)).collect();
        let keeps_own = self != Friendliness::Fast && table.has_stock();
        let is_barred = |name: &&String| keeps_own || !self.allows_in_bulk(name);
        let barred: Vec<String> = all().filter(is_barred).cloned().collect();
        if allowed.is_empty() || (!keeps_own && barred.len() == table.algorithms.len()) {
            return Err(NoCandidate { friendliness: self, candidates: table.algorithms.clone() });
        }
        let mut table = table.restricted(&allowed);
        table.barred_in_bulk = barred;
        Ok(table)
    }
}

impl Limits {
    fn hold_for(&self, algorithm: &str) -> bool {
        let mut figures =
            measured().iter().filter(|figure| figure.algorithm == algorithm).peekable();
        figures.peek().is_some() && figures.all(|figure| self.hold(figure))
    }

    fn hold(&self, figure: &Figure) -> bool {
        let keeps = |[mean, worst]: [f64; 2]| figure.mean >= mean && figure.worst >= worst;
        match figure.measure {
            Measure::HeavyLoss => figure.worst <= self.heavy_loss,
            Measure::Cubic1 | Measure::Cubic4 => keeps(self.cubic),
            Measure::Reno1 | Measure::Reno4 => keeps(self.reno),
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
        let is_allowed =
            |name: &&str| friendliness.allows(name) && friendliness.allows_in_bulk(name);
        let allowed: Vec<&str> = ours.filter(is_allowed).collect();
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

    fn allowed(friendliness: Friendliness, is_allowed: fn(Friendliness, &str) -> bool) -> usize {
        let figures = measured().iter().filter(|figure| figure.measure == Measure::HeavyLoss);
        figures.filter(|figure| is_allowed(friendliness, &figure.algorithm)).count()
    }

    #[test]
    fn the_more_careful_one_allows_less() {
        let [friendly, balanced, fast] =
            Friendliness::ALL.map(|it| allowed(it, Friendliness::allows));
        assert!(0 < friendly && friendly < balanced && balanced == fast);
        let [friendly, balanced, fast] =
            Friendliness::ALL.map(|it| allowed(it, Friendliness::allows_in_bulk));
        assert!(0 < friendly && friendly < balanced && balanced < fast);
    }

    /// If the table has a column for a connection's own algorithm, bulk keeps that, whatever else would leave
    /// enough to others.
    #[test]
    fn all_but_what_a_connection_came_with_is_barred_in_bulk() {
        let shipped = crate::shipped();
        let barred =
            |friendliness: Friendliness| friendliness.apply(shipped).unwrap().barred_in_bulk;
        assert!(shipped.has_stock());
        assert_eq!(barred(Friendliness::Balanced), shipped.algorithms);
        assert!(barred(Friendliness::Fast).is_empty());
    }

    #[test]
    fn what_was_not_measured_is_only_fast() {
        assert_eq!(Friendliness::ALL.map(|it| it.allows_in_bulk("kk_new")), [false, false, true]);
    }
}
