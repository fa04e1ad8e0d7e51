//! Regret: what a contender's latency is of that of the best fixed one, which is known afterwards.

use std::collections::HashMap;

use kirikae_scenario::Contender;
use serde::Serialize;

use super::ScenarioSummary;
use crate::outcome::{Comparison, Performance};
use crate::statistics::{mean, quantile};

/// Regret up to which a contender counts as good as the best.
pub const GOOD: f64 = 1.05;

/// How long each burst took that counts, in seconds, by seed and number: see [`Performance::waits`].
pub(super) type Waits = HashMap<(u64, u32), f64>;

/// Of one contender; nothing where it was not compared.
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

/// The fixed contender whose bursts took least in the mean, the first among equals. One that could
/// not even write all of them is none.
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

/// One contender over several scenarios.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// Who.
    pub contender: Contender,
    /// Scenarios in which there is a regret to tell of it.
    pub scenarios: usize,
    /// Mean of its regrets.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// The largest.
    pub worst: Extreme,
    /// Share (0 to 1) of the scenarios with a regret of at most [`GOOD`].
    pub good: f64,
    /// The largest ratio to stock cubic; none without stock cubic.
    pub worst_over_cubic: Option<Extreme>,
    /// Bursts that did not arrive, of all scenarios.
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

/// One for each contender, in the order in which the scenarios name them; nothing where fewer than
/// two scenarios have regrets.
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
