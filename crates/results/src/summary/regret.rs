//! Regret: a contender's latency over that of the best fixed contender, which is only known afterwards.

use std::collections::HashMap;

use kirikae_scenario::Contender;
use serde::Serialize;

use super::ScenarioSummary;
use crate::outcome::{Comparison, Performance};
use crate::statistics::{mean, quantile};

/// Regret up to which a contender counts as good as the best.
pub const GOOD: f64 = 1.05;

/// How long each burst that counts took, in seconds, by seed and number; see [`Performance::waits`].
pub(super) type Waits = HashMap<(u64, u32), f64>;

/// The times of one contender; empty if it was not compared.
pub(super) fn waits(comparison: &Comparison, contender: Contender) -> Waits {
    performances(comparison, contender)
        .flat_map(|it| it.waits().map(|(index, seconds)| ((it.seed, index), seconds)))
        .collect()
}

fn performances(
    comparison: &Comparison,
    contender: Contender,
) -> impl Iterator<Item = &Performance> {
    comparison.performances.iter().filter(move |it| it.contender == contender)
}

/// The fixed contender with the least mean latency, the first among equals. Contenders that could not even
/// write all bursts are left out.
pub(super) fn best_fixed(comparison: &Comparison) -> Option<Contender> {
    let fixed = comparison.scenario.contenders.iter().filter(|contender| contender.is_fixed());
    let means = fixed.filter_map(|&contender| {
        let complete = performances(comparison, contender).all(|it| it.unwritten() == 0);
        let bursts = performances(comparison, contender).flat_map(Performance::waits);
        let seconds: Vec<f64> = bursts.map(|(_, seconds)| seconds).collect();
        Some((mean(&seconds).filter(|_| complete)?.value, contender))
    });
    means.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, contender)| contender)
}

/// The regrets of a contender over several scenarios.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// The contender.
    pub contender: Contender,
    /// Number of scenarios in which it has a regret.
    pub scenarios: usize,
    /// Mean of its regrets.
    pub mean: f64,
    /// Median of its regrets.
    pub median: f64,
    /// 95th percentile of its regrets.
    pub p95: f64,
    /// The largest regret.
    pub worst: Extreme,
    /// Share (0 to 1) of the scenarios with a regret of at most [`GOOD`].
    pub good: f64,
    /// The largest ratio to stock cubic; None without stock cubic.
    pub worst_over_cubic: Option<Extreme>,
    /// Number of bursts that did not arrive, in all scenarios.
    pub unfinished: u32,
}

/// A ratio and where it was found.
#[derive(Debug, Serialize)]
pub struct Extreme {
    /// The ratio.
    pub ratio: f64,
    /// The scenario's title.
    pub scenario: String,
}

/// An overview for each contender, in the order in which the scenarios name them. Empty if fewer than two
/// scenarios have regrets.
pub(super) fn overviews(scenarios: &[ScenarioSummary]) -> Vec<Overview> {
    if scenarios.iter().filter(|scenario| scenario.best_fixed.is_some()).count() < 2 {
        return Vec::new();
    }
    let mut contenders: Vec<Contender> = Vec::new();
    for it in scenarios.iter().flat_map(|scenario| &scenario.contenders) {
        if !contenders.contains(&it.contender) {
            contenders.push(it.contender);
        }
    }
    contenders.into_iter().filter_map(|contender| overview(scenarios, contender)).collect()
}

fn overview(scenarios: &[ScenarioSummary], contender: Contender) -> Option<Overview> {
    let all = || {
        scenarios.iter().flat_map(|scenario| {
            let own = scenario.contenders.iter().filter(|it| it.contender == contender);
            own.map(move |it| (&scenario.title, it))
        })
    };
    let regrets = || all().filter_map(|(title, it)| Some((it.over_best_fixed?.value, title)));
    let over_cubic = all().filter_map(|(title, it)| Some((it.over_cubic?.value, title)));
    let mut ascending: Vec<f64> = regrets().map(|(regret, _)| regret).collect();
    ascending.sort_by(f64::total_cmp);
    let good = ascending.iter().filter(|regret| **regret <= GOOD).count();
    Some(Overview {
        contender,
        scenarios: ascending.len(),
        mean: mean(&ascending)?.value,
        median: quantile(&ascending, 0.50)?,
        p95: quantile(&ascending, 0.95)?,
        worst: largest(regrets())?,
        good: good as f64 / ascending.len() as f64,
        worst_over_cubic: largest(over_cubic),
        unfinished: all().map(|(_, it)| it.unfinished).sum(),
    })
}

fn largest<'a>(ratios: impl Iterator<Item = (f64, &'a String)>) -> Option<Extreme> {
    let (ratio, title) = ratios.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Extreme { ratio, scenario: title.clone() })
}
