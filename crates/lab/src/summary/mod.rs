//! A run in a few numbers for each contender.

mod flows;

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::outcome::{Comparison, Delivery, Outcome, Performance};
use crate::scenario::Contender;
use crate::statistics::{Estimate, mean, quantile, ratio_of_means};
pub use flows::GroupSummary;

/// A run, as printed by `--json`.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// One for each scenario.
    pub scenarios: Vec<ScenarioSummary>,
    /// Whether a signal ended the run before its schedule did.
    pub interrupted: bool,
    /// Where the records are, if any were asked for.
    pub records: Option<PathBuf>,
}

/// One scenario in numbers.
#[derive(Debug, Serialize)]
pub struct ScenarioSummary {
    /// Its title.
    pub title: String,
    /// Its file.
    pub file: PathBuf,
    /// Write by write: one for each contender, in the scenario's order; none where the scenario is
    /// not [`Scenario::timed`](crate::scenario::Scenario::timed).
    pub contenders: Vec<ContenderSummary>,
    /// Flow by flow: one for each contender and group of flows; none of the real kernel.
    pub flows: Vec<GroupSummary>,
}

/// One contender in numbers, its repetitions pooled. Latencies are in seconds and of counted bursts
/// that arrived. Estimates are of the bursts or, where there are several repetitions, of their means.
#[derive(Debug, Serialize)]
pub struct ContenderSummary {
    /// Who.
    pub contender: Contender,
    /// Counted bursts that arrived.
    pub n: usize,
    /// Counted bursts that did not.
    pub unfinished: u32,
    /// Mean latency.
    pub mean_s: Option<Estimate>,
    /// Median latency.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// Share (0 to 1) of counted bursts whose response, latency and half a round trip, takes less
    /// than 1 s; those that did not arrive do not.
    pub under_1_s: Option<f64>,
    /// Mean latency over that of stock cubic, paired by burst; none without stock cubic.
    pub over_cubic: Option<Estimate>,
    /// Mean latency over the mean lower bound, paired by burst.
    pub over_bound: Option<Estimate>,
    /// Packets that the channel lost, both directions.
    pub channel_drops: u64,
    /// Packets that found a queue full, both directions.
    pub queue_drops: u64,
    /// Switches of its connection.
    pub switches: usize,
    /// Whether the emulated path was the one described, see [`kirikae_emu::Report::held`].
    pub held: bool,
}

impl Summary {
    /// The numbers of a run.
    pub fn of(outcome: &Outcome) -> Summary {
        Summary {
            scenarios: outcome.comparisons.iter().map(ScenarioSummary::of).collect(),
            interrupted: outcome.interrupted,
            records: outcome.records.clone(),
        }
    }
}

impl ScenarioSummary {
    /// The numbers of a scenario.
    pub fn of(comparison: &Comparison) -> ScenarioSummary {
        let scenario = &comparison.scenario;
        let baseline: HashMap<(u64, u32), f64> = comparison
            .performances
            .iter()
            .filter(|performance| performance.contender == Contender::BASELINE)
            .flat_map(|it| it.counted().map(|(index, burst)| ((it.seed, index), burst.latency_s)))
            .collect();
        let round_trip_s = scenario.timed().map_or(0.0, |(path, _)| path.base_rtt().as_secs_f64());
        let contenders = comparison.performances.chunk_by(|a, b| a.contender == b.contender);
        ScenarioSummary {
            title: scenario.title.clone(),
            file: scenario.file.clone(),
            contenders: contenders
                .map(|repetitions| contender(repetitions, &baseline, round_trip_s / 2.0))
                .collect(),
            flows: flows::summaries(comparison),
        }
    }
}

/// `repetitions` are not none, and of one contender.
fn contender(
    repetitions: &[Performance],
    baseline: &HashMap<(u64, u32), f64>,
    half_round_trip_s: f64,
) -> ContenderSummary {
    let counted = || repetitions.iter().flat_map(Performance::counted);
    let mut latencies: Vec<f64> = counted().map(|(_, delivery)| delivery.latency_s).collect();
    latencies.sort_by(f64::total_cmp);
    let unfinished = repetitions.iter().map(|repetition| repetition.unfinished).sum();
    let due = latencies.len() + unfinished as usize;
    let prompt = latencies.iter().filter(|latency| *latency + half_round_trip_s < 1.0).count();
    let paired = samples(repetitions, |repetition, index, delivery| {
        Some((delivery.latency_s, *baseline.get(&(repetition.seed, index))?))
    });
    let bounds =
        samples(repetitions, |_, _, delivery| Some((delivery.latency_s, delivery.bound_s)));
    let means: Vec<f64> = bounds.iter().map(|(latency_s, _)| *latency_s).collect();
    let drops = |channel: bool| {
        let reports = repetitions.iter().map(|repetition| &repetition.report);
        let causes = reports.flat_map(|it| it.forward.dropped.iter().chain(&it.backward.dropped));
        causes.filter(|(cause, _)| cause.is_channel_loss() == channel).map(|(_, n)| n).sum()
    };
    ContenderSummary {
        contender: repetitions[0].contender,
        n: latencies.len(),
        unfinished,
        mean_s: mean(&means),
        p50_s: quantile(&latencies, 0.50),
        p95_s: quantile(&latencies, 0.95),
        p99_s: quantile(&latencies, 0.99),
        under_1_s: (due > 0).then(|| prompt as f64 / due as f64),
        over_cubic: ratio_of_means(&paired),
        over_bound: ratio_of_means(&bounds),
        channel_drops: drops(true),
        queue_drops: drops(false),
        switches: repetitions.iter().map(|repetition| repetition.switches.len()).sum(),
        held: repetitions.iter().all(|repetition| repetition.report.held),
    }
}

/// What `of` says of each burst that counts; of several repetitions, the mean of each: bursts of one
/// connection depend on each other, repetitions do not.
fn samples(
    repetitions: &[Performance],
    of: impl Fn(&Performance, u32, Delivery) -> Option<(f64, f64)>,
) -> Vec<(f64, f64)> {
    let bursts = |repetition: &Performance| -> Vec<(f64, f64)> {
        let counted = repetition.counted();
        counted.filter_map(|(index, delivery)| of(repetition, index, delivery)).collect()
    };
    if let [only] = repetitions {
        return bursts(only);
    }
    let means = |pairs: Vec<(f64, f64)>| {
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        Some((mean(&first)?.value, mean(&second)?.value))
    };
    repetitions.iter().map(bursts).filter_map(means).collect()
}
