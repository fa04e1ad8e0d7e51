//! How far an algorithm is from the kernel's module, and how far it may be.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::rounds::Rounds;
use super::run::Route;

/// What was measured of an algorithm and of the kernel's module over one path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pair {
    pub algorithm: String,
    pub route: Route,
    pub module: Rounds,
    pub ours: Rounds,
    /// The first of three differed, this one and another do not.
    #[serde(default)]
    pub is_majority: bool,
}

impl Pair {
    /// Where a pair differs, two more decide: which packet meets which tick of the guest's clock is
    /// chance, and once in very many pairs that decides about a window.
    pub fn confirmed(mut measure: impl FnMut() -> anyhow::Result<Pair>) -> anyhow::Result<Pair> {
        let first = measure()?;
        if !first.differs() {
            return Ok(first);
        }
        let others = [measure()?, measure()?];
        if others.iter().any(Pair::differs) {
            return Ok(first);
        }
        let [_, last] = others;
        Ok(Pair { is_majority: true, ..last })
    }

    fn differs(&self) -> bool {
        Measured::of(self).verdict == Verdict::Differs
    }
}

/// How far two algorithms may be apart, as a share of the module's cwnd.
#[derive(Clone, Copy, Debug)]
struct Tolerance {
    median: f64,
    max: f64,
}

/// Found of those that are held to it: medians up to 0.042, and no round beyond 0.071.
const TOLERANCE: Tolerance = Tolerance { median: 0.05, max: 0.1 };

/// A difference that is known and meant to stay, and what may be apart because of it.
struct Meant {
    algorithm: &'static str,
    why: &'static str,
    tolerance: Tolerance,
    /// Rounds that are not held to it: by phase (0 before the first loss), the module's cwnd, ours.
    leaves_out: fn(usize, u32, u32) -> bool,
    /// How far apart these may be, as a share of the module's cwnd.
    left_out: f64,
    /// How far apart all other phases may begin; from there on they are held to the tolerance.
    begins: f64,
}

const MEANT: &[Meant] = &[
    Meant {
        algorithm: "bbr",
        why: "but the rounds of PROBE_RTT, which comes by the clock (difference 9)",
        tolerance: TOLERANCE,
        leaves_out: |_, module, ours| module.min(ours) <= 4,
        // One is at 4 while the other has its whole window.
        left_out: f64::INFINITY,
        begins: 0.0,
    },
    Meant {
        algorithm: "cubic",
        why: "but for its differences 5 and 6: RFC 9438 where the module has an older draft",
        // Found: 0.062 and 0.117.
        tolerance: Tolerance { median: 0.07, max: 0.13 },
        leaves_out: |_, _, _| false,
        left_out: 0.0,
        begins: 0.0,
    },
    Meant {
        algorithm: "hybla",
        why: "but slow start (difference 5): the module begins with a window of its own",
        tolerance: TOLERANCE,
        leaves_out: |phase, _, _| phase == 0,
        // 4 segments and 10.
        left_out: 1.5,
        begins: 0.0,
    },
    Meant {
        algorithm: "westwood",
        why: "but for difference 5: the estimate is taken a round trip earlier, when the loss is found",
        tolerance: TOLERANCE,
        // After slow start a round trip is most of the window.
        leaves_out: |phase, _, _| phase == 1,
        // Found: 0.278. The module's own first window there is chance: 13 to 25.
        left_out: 0.5,
        // Found: 0.091, and 0.062 with the module's way in this point.
        begins: 0.12,
    },
];

/// What Linux does not have. Any other module that is not there is missed.
const WITHOUT_MODULE: [&str; 5] = ["bbr3", "compound", "cubic_fair", "fast", "resume"];

/// One line of the table.
pub struct Comparison {
    pub algorithm: String,
    pub route: Route,
    /// None if the kernel has no such module.
    pub measured: Option<Measured>,
}

/// How far an algorithm was from the module.
#[derive(Debug)]
pub struct Measured {
    pub rounds: usize,
    /// Relative difference of cwnd.
    pub median: f64,
    pub max: f64,
    /// How often each recovered from loss: the module, ours.
    pub recoveries: (usize, usize),
    pub verdict: Verdict,
    /// See [`Pair`].
    pub is_majority: bool,
}

/// What a line of the table comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Conforms,
    Meant(&'static str),
    Differs,
}

impl Comparison {
    /// An algorithm over each path.
    pub fn all_of(algorithm: &str, pairs: &[Pair]) -> Vec<Comparison> {
        let over = |&route| {
            let same = |pair: &&Pair| pair.algorithm == algorithm && pair.route == route;
            let measured = pairs.iter().find(same).map(Measured::of);
            Comparison { algorithm: algorithm.to_owned(), route, measured }
        };
        Route::value_variants().iter().map(over).collect()
    }

    pub fn passes(&self) -> bool {
        match &self.measured {
            Some(measured) => measured.verdict != Verdict::Differs,
            None => WITHOUT_MODULE.contains(&self.algorithm.as_str()),
        }
    }
}

impl Measured {
    fn of(pair: &Pair) -> Measured {
        let recoveries = |rounds: &Rounds| rounds.0.len().saturating_sub(1);
        let recoveries = (recoveries(&pair.module), recoveries(&pair.ours));
        let alike = recoveries.0 == recoveries.1 && as_often_small(pair);
        let all = differences(pair, |_, _, _| true);
        let (median, max) = median_and_max(&all);
        let within = |differences: &[f64], tolerance: Tolerance| {
            let (median, max) = median_and_max(differences);
            alike && median <= tolerance.median && max <= tolerance.max
        };
        let meant = MEANT.iter().find(|meant| meant.algorithm == pair.algorithm);
        let verdict = match meant {
            _ if within(&all, TOLERANCE) => Verdict::Conforms,
            Some(meant) if meant.explains(pair, within) => Verdict::Meant(meant.why),
            _ => Verdict::Differs,
        };
        let is_majority = pair.is_majority;
        Measured { rounds: all.len(), median, max, recoveries, verdict, is_majority }
    }
}

/// Whether both had a window of at most 4 in as many rounds, give or take two: PROBE_RTT is left out
/// of what is compared, but it must be there, and end.
fn as_often_small(pair: &Pair) -> bool {
    let small = |rounds: &Rounds| rounds.0.iter().flatten().filter(|&&cwnd| cwnd <= 4).count();
    small(&pair.module).abs_diff(small(&pair.ours)) <= 2
}

impl Meant {
    /// Whether nothing else differs.
    fn explains(&self, pair: &Pair, within: impl Fn(&[f64], Tolerance) -> bool) -> bool {
        let is_held = |phase, module, ours| !(self.leaves_out)(phase, module, ours);
        let held = differences(&self.begun_alike(pair), is_held);
        let left_out = differences(pair, self.leaves_out);
        within(&held, self.tolerance) && left_out.iter().all(|apart| *apart <= self.left_out)
    }

    /// Ours as if each phase had begun with the module's window, where it may begin with another.
    fn begun_alike(&self, pair: &Pair) -> Pair {
        let mut moved = pair.clone();
        for (module, ours) in pair.module.0.iter().zip(&mut moved.ours.0) {
            let (Some(&to), Some(&from)) = (module.first(), ours.first()) else { continue };
            if (f64::from(from) / f64::from(to) - 1.0).abs() <= self.begins {
                ours.iter_mut().for_each(|cwnd| *cwnd = (*cwnd + to).saturating_sub(from));
            }
        }
        moved
    }
}

/// Differences of cwnd, relative to the module's, in the rounds that are wanted.
fn differences(pair: &Pair, is_wanted: impl Fn(usize, u32, u32) -> bool) -> Vec<f64> {
    let mut differences = Vec::new();
    for (phase, (module, ours)) in pair.module.0.iter().zip(&pair.ours.0).enumerate() {
        for (&module, &ours) in module.iter().zip(ours) {
            if is_wanted(phase, module, ours) {
                differences.push((f64::from(ours) / f64::from(module) - 1.0).abs());
            }
        }
    }
    differences
}

/// Infinite where there is nothing to compare.
fn median_and_max(differences: &[f64]) -> (f64, f64) {
    let mut sorted = differences.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |n: usize| sorted.get(n).copied().unwrap_or(f64::INFINITY);
    (at(sorted.len() / 2), at(sorted.len().saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(algorithm: &str, module: &[&[u32]], ours: &[&[u32]]) -> Verdict {
        Measured::of(&pair(algorithm, module, ours)).verdict
    }

    fn pair(algorithm: &str, module: &[&[u32]], ours: &[&[u32]]) -> Pair {
        let rounds =
            |phases: &[&[u32]]| Rounds(phases.iter().map(|phase| phase.to_vec()).collect());
        let (module, ours) = (rounds(module), rounds(ours));
        let (algorithm, route) = (algorithm.to_owned(), Route::Wide);
        Pair { algorithm, route, module, ours, is_majority: false }
    }

    #[test]
    fn of_three_pairs_two_decide() {
        let module: &[&[u32]] = &[&[10, 20, 40], &[100, 101, 102]];
        let measured = |windows: [u32; 3]| {
            let mut windows = windows.into_iter();
            let again = || Ok(pair("reno", module, &[&[10, 20, 40], &[windows.next().unwrap()]]));
            Pair::confirmed(again).map(|pair| (pair.differs(), pair.is_majority)).unwrap()
        };
        assert_eq!(measured([100, 0, 0]), (false, false));
        assert_eq!(measured([150, 100, 100]), (false, true));
        assert_eq!(measured([150, 100, 150]), (true, false));
        assert_eq!(measured([150, 150, 100]), (true, false));
    }

    #[test]
    fn rounds_are_compared_from_the_same_loss_on() {
        let module: &[&[u32]] = &[&[10, 20, 40], &[100, 101, 102]];
        let reno = |ours: &[&[u32]]| verdict("reno", module, ours);
        assert_eq!(reno(&[&[10, 20], &[100, 101, 102]]), Verdict::Conforms);
        assert_eq!(reno(&[&[10, 20, 40], &[105, 106, 107]]), Verdict::Conforms);
        assert_eq!(reno(&[&[10, 20, 43], &[106, 107, 109]]), Verdict::Differs, "median");
        assert_eq!(reno(&[&[10, 20, 40], &[100, 101, 118]]), Verdict::Differs, "max");
        assert_eq!(reno(&[&[10, 20, 40]]), Verdict::Differs, "recoveries");
        assert_eq!(reno(&[&[], &[]]), Verdict::Differs, "nothing to compare");
    }

    #[test]
    fn probe_rtt_may_come_later_but_must_end() {
        let module: &[&[u32]] = &[&[10, 20], &[100, 4, 4, 100, 100, 100, 100, 100, 100]];
        let bbr = |ours: &[u32]| verdict("bbr", module, &[&[10, 20], ours]);
        assert!(matches!(bbr(&[100, 100, 4, 4, 100, 100, 100, 100, 100]), Verdict::Meant(_)));
        assert_eq!(bbr(&[100, 4, 4, 4, 4, 4, 100, 100, 100]), Verdict::Differs);
    }

    #[test]
    fn a_module_that_should_be_there_is_missed() {
        let without = |algorithm: &str| Comparison::all_of(algorithm, &[]);
        assert!(without("bbr3").iter().all(Comparison::passes));
        assert!(!without("reno").iter().any(Comparison::passes));
    }

    #[test]
    fn a_phase_may_begin_elsewhere_and_must_grow_alike() {
        let slow_start: &[u32] = &[10, 20];
        let module: &[&[u32]] = &[slow_start, &[16], &[60, 70, 80]];
        let westwood = |ours: &[u32]| verdict("westwood", module, &[slow_start, &[12], ours]);
        assert!(matches!(westwood(&[54, 64, 74]), Verdict::Meant(_)));
        assert_eq!(westwood(&[52, 62, 72]), Verdict::Differs, "begins too low");
        assert_eq!(westwood(&[54, 70, 90]), Verdict::Differs, "grows faster");
        assert_eq!(verdict("reno", module, &[slow_start, &[16], &[54, 64, 74]]), Verdict::Differs);
    }

    #[test]
    fn what_is_meant_to_differ_may_and_nothing_else() {
        let module: &[&[u32]] = &[&[4, 64], &[100, 101, 102]];
        let meant = verdict("hybla", module, &[&[10, 160], &[100, 101, 102]]);
        assert!(matches!(meant, Verdict::Meant(why) if why.contains("slow start")), "{meant:?}");
        assert_eq!(verdict("hybla", module, &[&[10, 160], &[100, 101, 130]]), Verdict::Differs);
        assert_eq!(verdict("hybla", module, &[&[20, 160], &[100, 101, 102]]), Verdict::Differs);
        assert_eq!(verdict("reno", module, &[&[10, 160], &[100, 101, 102]]), Verdict::Differs);
    }
}
