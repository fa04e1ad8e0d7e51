//! From what was played to the figures of an entry.

use std::collections::BTreeMap;

use kirikae_results::outcome::{Comparison, Performance};
use kirikae_results::play::Play;
use kirikae_results::statistics::{Estimate, ratio_of_means};
use kirikae_results::summary::ScenarioSummary;
use kirikae_scenario::{Contender, Scenario};

use crate::bound::Bound;
use crate::list::{Entry, Measure, Of, Over, own};

/// Writes of a connection after which it is to know its path.
pub const LEARNING: u32 = 20;

/// A figure and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name, by which it is found again.
    pub name: String,
    /// What is wanted.
    pub bound: Bound,
    /// Its value, or why there is none.
    pub value: Result<Value, &'static str>,
    /// The title of the scenario that it is of, or of the worst of several.
    pub scenario: String,
}

/// A value with its noise.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Value {
    /// The value.
    pub value: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
}

/// The figures of an entry, of the comparisons of its scenarios in their order.
pub fn figures(entry: &Entry, comparisons: &[&Comparison]) -> Vec<Figure> {
    let mut groups: Vec<(Vec<&str>, Vec<&Comparison>)> = Vec::new();
    for (scenario, comparison) in entry.scenarios.iter().zip(comparisons) {
        let split = split(entry, scenario);
        match groups.iter_mut().find(|(other, _)| *other == split) {
            Some((_, group)) => group.push(comparison),
            None => groups.push((split, vec![comparison])),
        }
    }
    let contenders = entry.contenders.iter();
    let each = contenders.flat_map(|contender| groups.iter().map(move |group| (*contender, group)));
    each.map(|(contender, (split, group))| {
        let (scenario, value) = value(entry, contender, group);
        let name = [&[entry.name.as_str()], &split[..], &[host(contender)]].concat().join(", ");
        Figure { name, bound: entry.bound, value, scenario: scenario.into() }
    })
    .collect()
}

/// Whose figure it is, in its name: of the switcher the host, by what that had.
fn host(contender: Contender) -> &'static str {
    match contender {
        Contender::Kirikae => "on cubic",
        Contender::KirikaeOnBbr => "on bbr",
        other => other.name(),
    }
}

fn split<'a>(entry: &Entry, scenario: &'a Scenario) -> Vec<&'a str> {
    entry.by.iter().map(|name| scenario.swept[name].as_str()).collect()
}

/// The value of a group of scenarios, and the title of the worst. One without a value leaves the group without.
fn value<'a>(
    entry: &Entry,
    contender: Contender,
    group: &[&'a Comparison],
) -> (&'a str, Result<Value, &'static str>) {
    let mut values: Vec<(&str, Value)> = Vec::new();
    for comparison in group {
        let title = comparison.scenario.title.as_str();
        match of_scenario(entry, contender, comparison) {
            Ok(value) => values.push((title, value)),
            Err(why_not) => return (title, Err(why_not)),
        }
    }
    let badness = |it: &(&str, Value)| entry.bound.worse_by(it.1.value, 0.0);
    let worst = values.iter().max_by(|a, b| badness(a).total_cmp(&badness(b)));
    let (title, value) = *worst.expect("a group has a scenario");
    match entry.of {
        Of::Worst => (title, Ok(value)),
        Of::Mean => (title, Ok(mean(&values))),
    }
}

/// The paths are what they are: only what happens on each is chance.
fn mean(values: &[(&str, Value)]) -> Value {
    let n = values.len() as f64;
    let sum: f64 = values.iter().map(|(_, it)| it.value).sum();
    let squares: f64 = values.iter().map(|(_, it)| it.half_width.powi(2)).sum();
    Value { value: sum / n, half_width: squares.sqrt() / n }
}

fn of_scenario(
    entry: &Entry,
    contender: Contender,
    comparison: &Comparison,
) -> Result<Value, &'static str> {
    let other = match entry.over {
        Over::BestFixed => {
            Some(ScenarioSummary::of(comparison).best_fixed.ok_or("no fixed one wrote all")?)
        }
        Over::Own => Some(own(contender)),
        Over::One(other) => Some(other),
        Over::Nothing => None,
    };
    let concerned = |it: &&Play| it.contender == contender || Some(it.contender) == other;
    if !comparison.plays.iter().filter(concerned).all(Play::held) {
        return Err("the emulated path was late");
    }
    let samples = |of: Contender| samples(&entry.measure, of, comparison);
    let pairs: Vec<(f64, f64)> = match other {
        Some(other) => paired(&samples(contender), &samples(other)),
        None => switches(contender, comparison),
    };
    match ratio_of_means(&pairs) {
        Some(Estimate { value, half_width: Some(half_width) }) => Ok(Value { value, half_width }),
        _ => Err("too little arrived"),
    }
}

/// A measure of each repetition, or where there is only one, of each of its writes or outages.
type Samples = BTreeMap<(u64, u32), f64>;

fn samples(measure: &Measure, contender: Contender, comparison: &Comparison) -> Samples {
    let performances = || performances(comparison, contender);
    match measure {
        Measure::Latency => performances()
            .flat_map(|it| it.waits().map(|(index, seconds)| ((it.seed, index), seconds)))
            .collect(),
        Measure::Recovery => performances()
            .flat_map(|it| (0..).zip(recoveries(it)).map(|(place, s)| ((it.seed, place), s)))
            .collect(),
        Measure::Goodput(flow) => {
            let plays = comparison.plays.iter().filter(|play| play.contender == contender);
            let goodput = |play: &Play| {
                let flows = play.flows.iter().filter(|it| it.flow == *flow);
                flows.filter_map(|it| it.goodput).sum()
            };
            plays.map(|play| ((play.seed, 0), goodput(play))).collect()
        }
        Measure::Switches => unreachable!("they are no ratio"),
    }
}

/// In seconds. A path that carried nothing any more counts with the whole run.
fn recoveries(performance: &Performance) -> impl Iterator<Item = f64> {
    let begin_ns = performance.bursts.first().map_or(performance.end_ns, |burst| burst.start_ns);
    let whole = (performance.end_ns - begin_ns) as f64 / 1e9;
    performance.recoveries.iter().map(move |recovery| recovery.unwrap_or(whole))
}

fn performances(
    comparison: &Comparison,
    contender: Contender,
) -> impl Iterator<Item = &Performance> {
    comparison.performances.iter().filter(move |it| it.contender == contender)
}

/// What both have, by seed and number; summed by seed where there are several.
fn paired(first: &Samples, second: &Samples) -> Vec<(f64, f64)> {
    let both = first.iter().filter_map(|(key, value)| Some((key.0, (*value, *second.get(key)?))));
    let both: Vec<(u64, (f64, f64))> = both.collect();
    let mut by_seed: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for (seed, pair) in &both {
        let sum = by_seed.entry(*seed).or_default();
        *sum = (sum.0 + pair.0, sum.1 + pair.1);
    }
    if by_seed.len() > 1 {
        by_seed.into_values().collect()
    } else {
        both.into_iter().map(|(_, pair)| pair).collect()
    }
}

/// Of each repetition a hundred times the switches, and the writes, once the connection knows its path.
fn switches(contender: Contender, comparison: &Comparison) -> Vec<(f64, f64)> {
    let of = |it: &Performance| {
        let later = it.bursts.iter().filter(|burst| burst.index >= LEARNING);
        let from_ns = it.bursts.iter().find(|burst| burst.index >= LEARNING)?.start_ns;
        let switches = it.switches.iter().filter(|switch| switch.at_ns >= from_ns).count();
        Some((100.0 * switches as f64, later.count() as f64))
    };
    performances(comparison, contender).filter_map(of).collect()
}
