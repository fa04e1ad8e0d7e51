//! A path that was played: the switcher's mean latencies beside those of whom it is held against.

use kirikae_path::Time;
use kirikae_results::Error;
use kirikae_results::play::exchanges;
use kirikae_results::statistics::{Estimate, ratio_of_means, ratio_of_means_within};
use kirikae_scenario::{Contender, Controls, FlowGroup, Scenario};
use kirikae_sim::FlowOutcome;
use serde::{Deserialize, Serialize};

use super::draw::Draw;
use crate::sim;

/// All that there is to know of what came of a path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Played {
    pub draw: Draw,
    /// Whom it was held against: of several the one whose bursts took least on these connections.
    pub best: Contender,
    /// Mean latencies of each repetition, seconds: the switcher's, and that of the best. Not empty.
    pairs: Vec<(f64, f64)>,
}

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
}

impl Verdict {
    /// The lower end of the 95 % interval: what is not luck.
    pub fn at_least(&self) -> f64 {
        self.ratio.value - self.ratio.half_width.unwrap_or(0.0)
    }
}

impl Played {
    /// Plays the path's scenario, all repetitions; the switcher is the last of its contenders.
    pub fn of(draw: &Draw, scenario: &Scenario, controls: &Controls) -> Result<Played, Error> {
        let means = |contender: &Contender| {
            let seeds = scenario.seeds();
            seeds.map(|seed| mean_wait(scenario, *contender, seed, controls)).collect()
        };
        let mut of_each: Vec<Vec<f64>> =
            scenario.contenders.iter().map(means).collect::<Result<_, Error>>()?;
        let own = of_each.pop().expect("the switcher contends");
        let others = scenario.contenders.iter().zip(&of_each);
        let (best, theirs) = others
            .min_by(|a, b| mean(a.1.iter()).total_cmp(&mean(b.1.iter())))
            .expect("there is somebody to lose to");
        let pairs = own.into_iter().zip(theirs.iter().copied()).collect();
        Ok(Played { draw: draw.clone(), best: *best, pairs })
    }

    /// Mean latency of the switcher over that of the best.
    pub fn ratio(&self) -> f64 {
        self.verdict().ratio.value
    }

    /// The lower end of the ratio's 95 % interval.
    pub fn at_least(&self) -> f64 {
        self.verdict().at_least()
    }

    /// Whether the ratio is at least this, and with this confidence (0 to 1) not just by chance above 1.
    pub fn loses(&self, loss: f64, confidence: f64) -> bool {
        let estimate = ratio_of_means_within(&self.pairs, confidence);
        let Some(Estimate { value, half_width: Some(half) }) = estimate else { return false };
        value >= loss && value - half > 1.0
    }

    /// As it is told.
    pub fn verdict(&self) -> Verdict {
        Verdict {
            ratio: ratio_of_means(&self.pairs).expect("latencies above 0"),
            repetitions: self.pairs.len(),
            mean_s: mean(self.pairs.iter().map(|(own, _)| own)),
            best: self.best,
            best_mean_s: mean(self.pairs.iter().map(|(_, best)| best)),
        }
    }
}

fn mean<'a>(of: impl ExactSizeIterator<Item = &'a f64>) -> f64 {
    let n = of.len() as f64;
    of.sum::<f64>() / n
}

/// Mean over the writes that count of how long each took.
fn mean_wait(
    scenario: &Scenario,
    contender: Contender,
    seed: u64,
    controls: &Controls,
) -> Result<f64, Error> {
    let waits = waits(scenario, contender, seed, controls)?;
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
