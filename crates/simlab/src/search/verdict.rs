//! Whether the switcher loses on a path: its mean latency over that of whom it is held against.

use kirikae_path::Time;
use kirikae_results::Error;
use kirikae_results::play::exchanges;
use kirikae_results::statistics::{Estimate, ratio_of_means, ratio_of_means_within};
use kirikae_scenario::{Contender, Controls, FlowGroup, Scenario};
use kirikae_sim::FlowOutcome;
use serde::Serialize;

use super::Options;
use crate::sim;

/// What came of a path.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Mean latency of the switcher over that of `best`, with a 95 % interval where there are several
    /// repetitions: their means are the samples.
    pub ratio: Estimate,
    /// Connections simulated of each contender.
    pub repetitions: usize,
    /// Mean latency of the switcher, seconds.
    pub mean_s: f64,
    /// Whom it was held against: of several the one whose bursts took least on these connections.
    pub best: Contender,
    /// The mean latency of that one, seconds.
    pub best_mean_s: f64,
    /// Of each repetition the switcher's mean latency and that of the best.
    #[serde(skip)]
    pairs: Vec<(f64, f64)>,
}

impl Verdict {
    /// Plays the scenario's repetitions, in which the switcher is the last of the contenders.
    pub fn of(scenario: &Scenario, options: &Options) -> Result<Verdict, Error> {
        let means = |contender: &Contender| {
            let seeds = scenario.seeds();
            seeds.map(|seed| mean_wait(scenario, *contender, seed, options)).collect()
        };
        let mut of_each: Vec<Vec<f64>> =
            scenario.contenders.iter().map(means).collect::<Result<_, Error>>()?;
        let own = of_each.pop().expect("the switcher contends");
        let all = |means: &[f64]| means.iter().sum::<f64>() / means.len() as f64;
        let others = scenario.contenders.iter().zip(&of_each);
        let (best, theirs) = others
            .min_by(|a, b| all(a.1).total_cmp(&all(b.1)))
            .expect("there is somebody to lose to");
        let pairs: Vec<(f64, f64)> = own.iter().copied().zip(theirs.iter().copied()).collect();
        Ok(Verdict {
            ratio: ratio_of_means(&pairs).expect("latencies above 0"),
            repetitions: own.len(),
            mean_s: all(&own),
            best: *best,
            best_mean_s: all(theirs),
            pairs,
        })
    }

    /// The lower end of the 95 % interval: what is not luck.
    pub fn at_least(&self) -> f64 {
        self.ratio.value - self.ratio.half_width.unwrap_or(0.0)
    }

    /// Whether the ratio is at least this, and with this confidence (0 to 1) not just by chance above 1.
    pub fn loses(&self, loss: f64, confidence: f64) -> bool {
        let estimate = ratio_of_means_within(&self.pairs, confidence);
        let Some(Estimate { value, half_width: Some(half) }) = estimate else { return false };
        value >= loss && value - half > 1.0
    }
}

/// Mean over the writes that count of how long each took.
fn mean_wait(
    scenario: &Scenario,
    contender: Contender,
    seed: u64,
    options: &Options,
) -> Result<f64, Error> {
    let waits = waits(scenario, contender, seed, &options.controls)?;
    Ok(waits.iter().map(|(_, wait_s)| wait_s).sum::<f64>() / waits.len() as f64)
}

/// When each write that counts began, and how long it took, in seconds; one that did not arrive, how long
/// it had waited at the end, and one whose connection was not opened, since the one before had not come to its end,
/// since it was due.
pub(super) fn waits(
    scenario: &Scenario,
    contender: Contender,
    seed: u64,
    controls: &Controls,
) -> Result<Vec<(Time, f64)>, Error> {
    let simulation = sim::simulation(scenario, contender, seed, controls);
    let outcome = simulation.run()?;
    let wait = |(start, last): (Time, Option<Time>)| {
        (start, (last.unwrap_or(outcome.end) - start).as_secs_f64())
    };
    let of = |((group, index), (due, flow)): ((&FlowGroup, u32), (Time, &FlowOutcome))| match group
        .answers()
    {
        Some(answers) if flow.server.is_empty() && !answers.is_warmup(index) => {
            vec![(due, None)]
        }
        _ => exchanges(group, index, &flow.client, &flow.server),
    };
    let due = simulation.flows.iter().map(|flow| flow.start);
    let flows = scenario.connections().zip(due.zip(&outcome.flows));
    Ok(flows.flat_map(of).map(wait).collect())
}
