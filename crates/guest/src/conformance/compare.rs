//! How far an algorithm is from the kernel's module, and how far it may be.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::rounds::Rounds;
use super::trial::Route;

/// What was measured of an algorithm and of the kernel's module over one path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pair {
    pub algorithm: String,
    pub route: Route,
    pub module: Rounds,
    pub ours: Rounds,
}

/// How far two algorithms may be apart, as a share of the module's cwnd.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    pub median: f64,
    pub max: f64,
}

const TOLERANCE: Tolerance = Tolerance { median: 0.05, max: 0.15 };

/// A difference that is meant: why, and how far apart the two are then.
#[derive(Debug)]
pub struct Meant {
    pub algorithm: &'static str,
    pub why: &'static str,
    pub tolerance: Tolerance,
}

const MEANT: &[Meant] = &[];

/// One line of the table.
#[derive(Debug)]
pub struct Comparison {
    pub algorithm: String,
    pub route: Route,
    /// Relative differences of cwnd, round by round; none where the kernel has no such module.
    differences: Option<Vec<f64>>,
    /// How often each had to recover from loss: the module, ours.
    pub recoveries: (usize, usize),
}

/// What a line of the table comes to.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    NoModule,
    Conforms,
    Meant(&'static str),
    Differs,
}

impl Comparison {
    /// An algorithm over each path.
    pub fn all_of(algorithm: &str, pairs: &[Pair]) -> Vec<Comparison> {
        let over = |&route| {
            let same = |pair: &&Pair| pair.algorithm == algorithm && pair.route == route;
            Comparison::of(algorithm, route, pairs.iter().find(same))
        };
        Route::value_variants().iter().map(over).collect()
    }

    fn of(algorithm: &str, route: Route, pair: Option<&Pair>) -> Comparison {
        let recoveries = pair.map_or((0, 0), |pair| {
            (pair.module.0.len().saturating_sub(1), pair.ours.0.len().saturating_sub(1))
        });
        let differences = pair.map(|Pair { module, ours, .. }| {
            let phases = module.0.iter().zip(&ours.0);
            let rounds = phases.flat_map(|(module, ours)| module.iter().zip(ours));
            rounds
                .map(|(&module, &ours)| (f64::from(ours) / f64::from(module) - 1.0).abs())
                .collect()
        });
        Comparison { algorithm: algorithm.to_owned(), route, differences, recoveries }
    }

    pub fn rounds(&self) -> usize {
        self.differences.as_ref().map_or(0, Vec::len)
    }

    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.differences.clone()?;
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }

    pub fn max(&self) -> Option<f64> {
        self.differences.as_ref()?.iter().copied().max_by(f64::total_cmp)
    }

    pub fn verdict(&self) -> Verdict {
        let (Some(median), Some(max)) = (self.median(), self.max()) else {
            return Verdict::NoModule;
        };
        let alike = self.recoveries.0 == self.recoveries.1;
        let within = |t: Tolerance| alike && median <= t.median && max <= t.max;
        let meant = MEANT.iter().find(|meant| meant.algorithm == self.algorithm);
        match meant {
            _ if within(TOLERANCE) => Verdict::Conforms,
            Some(meant) if within(meant.tolerance) => Verdict::Meant(meant.why),
            _ => Verdict::Differs,
        }
    }

    pub fn passes(&self) -> bool {
        self.verdict() != Verdict::Differs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(module: &[&[u32]], ours: &[&[u32]]) -> Verdict {
        let rounds =
            |phases: &[&[u32]]| Rounds(phases.iter().map(|phase| phase.to_vec()).collect());
        let pair = Pair {
            algorithm: "reno".into(),
            route: Route::Wide,
            module: rounds(module),
            ours: rounds(ours),
        };
        Comparison::of("reno", Route::Wide, Some(&pair)).verdict()
    }

    #[test]
    fn rounds_are_compared_from_the_same_loss_on() {
        let module: &[&[u32]] = &[&[10, 20, 40], &[100, 101, 102]];
        assert_eq!(verdict(module, &[&[10, 20], &[100, 101, 102]]), Verdict::Conforms);
        assert_eq!(verdict(module, &[&[10, 20, 40], &[105, 106, 107]]), Verdict::Conforms);
        assert_eq!(verdict(module, &[&[10, 20, 40], &[106, 107, 109]]), Verdict::Differs, "median");
        assert_eq!(verdict(module, &[&[10, 20, 40], &[100, 101, 118]]), Verdict::Differs, "max");
        assert_eq!(verdict(module, &[&[10, 20, 40]]), Verdict::Differs, "recoveries");
        assert_eq!(Comparison::of("reno", Route::Wide, None).verdict(), Verdict::NoModule);
    }
}
