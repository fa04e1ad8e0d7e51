//! A run in a few numbers for each contender.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::outcome::{Comparison, Outcome, Performance};
use crate::scenario::Contender;
use crate::statistics::{Estimate, mean, quantile, ratio_of_means};

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
    /// One for each contender, in the scenario's order.
    pub contenders: Vec<ContenderSummary>,
}

/// One contender in numbers. Latencies are in seconds and of counted bursts that arrived.
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
        let baseline: HashMap<u32, f64> = comparison
            .performances
            .iter()
            .filter(|performance| performance.contender == Contender::BASELINE)
            .flat_map(Performance::counted)
            .map(|(index, delivery)| (index, delivery.latency_s))
            .collect();
        let half_round_trip_s = scenario.path.base_rtt().as_secs_f64() / 2.0;
        let summary = |performance| contender(performance, &baseline, half_round_trip_s);
        ScenarioSummary {
            title: scenario.title.clone(),
            file: scenario.file.clone(),
            contenders: comparison.performances.iter().map(summary).collect(),
        }
    }
}

fn contender(
    performance: &Performance,
    baseline: &HashMap<u32, f64>,
    half_round_trip_s: f64,
) -> ContenderSummary {
    let mut latencies: Vec<f64> =
        performance.counted().map(|(_, delivery)| delivery.latency_s).collect();
    latencies.sort_by(f64::total_cmp);
    let due = latencies.len() + performance.unfinished as usize;
    let prompt = latencies.iter().filter(|latency| *latency + half_round_trip_s < 1.0).count();
    let paired: Vec<(f64, f64)> = performance
        .counted()
        .filter_map(|(index, delivery)| Some((delivery.latency_s, *baseline.get(&index)?)))
        .collect();
    let bounds: Vec<(f64, f64)> =
        performance.counted().map(|(_, delivery)| (delivery.latency_s, delivery.bound_s)).collect();
    let report = &performance.report;
    let drops = |channel: bool| {
        let causes = report.forward.dropped.iter().chain(&report.backward.dropped);
        causes.filter(|(cause, _)| cause.is_channel_loss() == channel).map(|(_, n)| n).sum()
    };
    ContenderSummary {
        contender: performance.contender,
        n: latencies.len(),
        unfinished: performance.unfinished,
        mean_s: mean(&latencies),
        p50_s: quantile(&latencies, 0.50),
        p95_s: quantile(&latencies, 0.95),
        p99_s: quantile(&latencies, 0.99),
        under_1_s: (due > 0).then(|| prompt as f64 / due as f64),
        over_cubic: ratio_of_means(&paired),
        over_bound: ratio_of_means(&bounds),
        channel_drops: drops(true),
        queue_drops: drops(false),
        switches: performance.switches.len(),
        held: report.held,
    }
}
