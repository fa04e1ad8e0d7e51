//! Summarises a run in a few numbers for each contender.

mod flows;
mod regret;

use std::path::PathBuf;

use kirikae_scenario::Contender;
use serde::Serialize;

use crate::outcome::{Comparison, Outcome, Performance};
use crate::recovery::Recovery;
use crate::statistics::{Estimate, mean, quantile, ratio_of_means};
pub use flows::GroupSummary;
use regret::Waits;
pub use regret::{Extreme, GOOD, Overview};

/// The summary of a run, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// A summary for each scenario.
    pub scenarios: Vec<ScenarioSummary>,
    /// A line over all scenarios for each contender; empty if only one scenario has regrets.
    pub overview: Vec<Overview>,
    /// Whether a signal ended the run before its schedule did.
    pub interrupted: bool,
    /// Where the records are, if any were asked for.
    pub records: Option<PathBuf>,
}

/// The summary of a scenario.
#[derive(Debug, Serialize)]
pub struct ScenarioSummary {
    /// The scenario's title.
    pub title: String,
    /// The scenario's file.
    pub file: PathBuf,
    /// The fixed contender, one of the kernel's own or of ours, with the least mean latency. Bursts that did
    /// not arrive count with the time until the end of the run.
    pub best_fixed: Option<Contender>,
    /// The summaries write by write, one for each contender, in the scenario's order. Empty if the scenario
    /// is not [`Scenario::timed`](kirikae_scenario::Scenario::timed).
    pub contenders: Vec<ContenderSummary>,
    /// The summaries flow by flow, one for each contender and group of flows.
    pub flows: Vec<GroupSummary>,
}

/// The summary of a contender over its repetitions. Latencies are those of counted bursts that arrived, in
/// seconds. The samples of an estimate are the bursts, or if there are several repetitions, their means.
#[derive(Debug, Serialize)]
pub struct ContenderSummary {
    /// The contender.
    pub contender: Contender,
    /// Number of counted bursts that arrived.
    pub n: usize,
    /// Number of counted bursts that did not arrive.
    pub unfinished: u32,
    /// Mean latency.
    pub mean_s: Option<Estimate>,
    /// Median latency.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// Share (0 to 1) of the counted bursts whose response time, latency and half a round trip, is below 1 s.
    /// It is not for bursts that did not arrive.
    pub under_1_s: Option<f64>,
    /// Mean latency over that of stock cubic, paired by burst; None without stock cubic. Bursts that did not
    /// arrive count with the time until the end of the run.
    pub over_cubic: Option<Estimate>,
    /// The regret: the same ratio to the best fixed contender.
    pub over_best_fixed: Option<Estimate>,
    /// Mean latency over the mean lower bound, paired by burst.
    pub over_bound: Option<Estimate>,
    /// Packets that the channel lost, both directions.
    pub channel_drops: u64,
    /// Packets that found a queue full, both directions.
    pub queue_drops: u64,
    /// Switches of its connection.
    pub switches: usize,
    /// How soon data flowed again after the path's outages; None if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Whether the emulated path behaved as described; see [`kirikae_vocabulary::Report::held`].
    pub held: bool,
}

impl Summary {
    /// Summarises a run.
    pub fn of(outcome: &Outcome) -> Summary {
        let scenarios: Vec<_> = outcome.comparisons.iter().map(ScenarioSummary::of).collect();
        Summary {
            overview: regret::overviews(&scenarios),
            scenarios,
            interrupted: outcome.interrupted,
            records: outcome.records.clone(),
        }
    }
}

impl ScenarioSummary {
    /// Summarises a scenario.
    pub fn of(comparison: &Comparison) -> ScenarioSummary {
        let scenario = &comparison.scenario;
        let baseline = regret::waits(comparison, Contender::BASELINE);
        let best_fixed = regret::best_fixed(comparison);
        let best = best_fixed.map_or(Waits::new(), |best| regret::waits(comparison, best));
        let round_trip_s = scenario.timed().map_or(0.0, |(path, _)| path.base_rtt().as_secs_f64());
        let contenders = comparison.performances.chunk_by(|a, b| a.contender == b.contender);
        ScenarioSummary {
            title: scenario.title.clone(),
            file: scenario.file.clone(),
            best_fixed,
            contenders: contenders
                .map(|repetitions| contender(repetitions, &baseline, &best, round_trip_s / 2.0))
                .collect(),
            flows: flows::summaries(comparison),
        }
    }
}

/// Summarises a contender. `repetitions` are not empty, and all of one contender.
fn contender(
    repetitions: &[Performance],
    baseline: &Waits,
    best: &Waits,
    half_round_trip_s: f64,
) -> ContenderSummary {
    let counted = || repetitions.iter().flat_map(Performance::counted);
    let mut latencies: Vec<f64> = counted().map(|(_, delivery)| delivery.latency_s).collect();
    latencies.sort_by(f64::total_cmp);
    let unfinished = repetitions.iter().map(|repetition| repetition.unfinished).sum();
    let due = latencies.len() + unfinished as usize;
    let prompt = latencies.iter().filter(|latency| *latency + half_round_trip_s < 1.0).count();
    let over = |others: &Waits| {
        ratio_of_means(&samples(repetitions, |repetition| {
            let other = |index| others.get(&(repetition.seed, index)).copied();
            repetition.waits().filter_map(|(index, wait)| Some((wait, other(index)?))).collect()
        }))
    };
    let bounds = samples(repetitions, |repetition| {
        repetition.counted().map(|(_, delivery)| (delivery.latency_s, delivery.bound_s)).collect()
    });
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
        over_cubic: over(baseline),
        over_best_fixed: over(best),
        over_bound: ratio_of_means(&bounds),
        channel_drops: drops(true),
        queue_drops: drops(false),
        switches: repetitions.iter().map(|repetition| repetition.switches.len()).sum(),
        recovery: Recovery::of(repetitions.iter().flat_map(|it| it.recoveries.iter().copied())),
        held: repetitions.iter().all(|repetition| repetition.report.held),
    }
}

/// The samples of an estimate: what `of` returns for the bursts of the only repetition, or if there are
/// several, the mean for each. Bursts of one connection depend on each other; repetitions do not.
fn samples(
    repetitions: &[Performance],
    of: impl Fn(&Performance) -> Vec<(f64, f64)>,
) -> Vec<(f64, f64)> {
    if let [only] = repetitions {
        return of(only);
    }
    let means = |pairs: Vec<(f64, f64)>| {
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        Some((mean(&first)?.value, mean(&second)?.value))
    };
    repetitions.iter().map(of).filter_map(means).collect()
}
