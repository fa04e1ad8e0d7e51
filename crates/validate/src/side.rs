//! The measurements of one side, by scenario and contender.

use std::collections::BTreeMap;

use kirikae_results::outcome::{Comparison, Outcome, Performance};
use kirikae_results::play::Play;
use kirikae_scenario::Contender;

/// One side's measurements, by scenario title and contender.
pub type Side = BTreeMap<(String, Contender), Measured>;

/// The measurements of one contender of one scenario.
#[derive(Debug, Default)]
pub struct Measured {
    /// Whether all networks behaved as described; see [`kirikae_vocabulary::Report::held`].
    pub held: bool,
    /// Latencies in a scenario that is compared write by write, seconds: those of the bursts that counted and
    /// arrived, by seed and number.
    pub bursts: BTreeMap<(u64, u32), f64>,
    /// The plays of any other scenario, in the order of the seeds.
    pub plays: Vec<Play>,
}

/// The measurements of a run.
pub fn side(outcome: Outcome) -> Side {
    let mut side = Side::new();
    for Comparison { scenario, performances, plays } in outcome.comparisons {
        let timed = scenario.timed().is_some();
        let measured = |contender| (scenario.title.clone(), contender);
        for play in plays {
            let measured = side.entry(measured(play.contender)).or_insert_with(Measured::held);
            measured.held &= play.held();
            if !timed {
                measured.plays.push(play);
            }
        }
        for performance in &performances {
            let measured = side.entry(measured(performance.contender)).or_default();
            measured.bursts.extend(seconds(performance));
        }
    }
    side
}

impl Measured {
    /// No measurements, and networks that behaved as described.
    pub fn held() -> Measured {
        Measured { held: true, ..Measured::default() }
    }
}

fn seconds(performance: &Performance) -> impl Iterator<Item = ((u64, u32), f64)> {
    let seed = performance.seed;
    performance.counted().map(move |(index, delivery)| ((seed, index), delivery.latency_s))
}
