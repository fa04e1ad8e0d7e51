//! Summarises flows in a few numbers for each contender and group.

use kirikae_path::Direction;
use kirikae_scenario::{Contender, FlowGroup, Link};
use serde::Serialize;

use crate::outcome::Comparison;
use crate::play::{Play, PlayedFlow};
use crate::statistics::{Estimate, fairness, mean, quantile};
use crate::watched::Watched;

/// The numbers of a group of flows of one contender. Each estimate is the mean over the repetitions, with an
/// interval if there are several.
#[derive(Debug, Serialize)]
pub struct GroupSummary {
    /// The contender that is compared.
    pub contender: Contender,
    /// The group's name.
    pub flow: String,
    /// Number of flows in it.
    pub flows: u32,
    /// Mean goodput of a flow, both directions, in Mbit/s: from its first write to its end, or in the time
    /// that the scenario names.
    pub goodput_mbit: Option<Estimate>,
    /// Goodput of all flows together, in Mbit/s: from the first write of any to the end of the last.
    pub total_mbit: Option<Estimate>,
    /// That goodput over the narrowest rate on their way (0 to 1), in the direction that is used more.
    pub share: Option<Estimate>,
    /// Jain's index of the flows' goodputs.
    pub fairness: Option<Estimate>,
    /// Jain's index over the flows of all groups.
    pub fairness_of_all: Option<Estimate>,
    /// Share (0 to 1) of the segments with data that had been sent before.
    pub retransmitted: Option<Estimate>,
    /// Number of writes that count and arrived; see [`PlayedFlow::writes`].
    pub writes: usize,
    /// Number of writes that count and did not arrive.
    pub unfinished: usize,
    /// Mean latency of the writes, in seconds.
    pub mean_s: Option<Estimate>,
    /// 95th percentile of these latencies, in seconds.
    pub p95_s: Option<Estimate>,
    /// Share (0 to 1) of the pictures of videos that were late or left out.
    pub late: Option<Estimate>,
    /// How long a video was frozen, in seconds; see [`Watched`].
    pub frozen_s: Option<Estimate>,
    /// Mean of the flows' smoothed round-trip times at the end, in seconds.
    pub srtt_s: Option<Estimate>,
    /// Number of flows that had something left to do at the end, in all repetitions.
    pub left_flows: usize,
    /// Bytes that were written and had not arrived, in all repetitions, without those of unlimited writes.
    pub left_bytes: u64,
    /// Whether the links behaved as described in all repetitions; see [`kirikae_vocabulary::Report::held`].
    pub held: bool,
}

/// The summaries, one for each contender and group, in the scenario's order.
pub(super) fn summaries(comparison: &Comparison) -> Vec<GroupSummary> {
    let scenario = &comparison.scenario;
    let mut summaries = Vec::new();
    for plays in comparison.plays.chunk_by(|a, b| a.contender == b.contender) {
        let mut first = 0;
        for group in &scenario.flows {
            let place = first..first + group.connections() as usize;
            first = place.end;
            let repetitions: Vec<Repetition> = plays
                .iter()
                .map(|play| Repetition { play, flows: &play.flows[place.clone()] })
                .collect();
            summaries.push(summary(plays[0].contender, group, &scenario.links, &repetitions));
        }
    }
    summaries
}

/// The flows of a group in one repetition.
struct Repetition<'a> {
    play: &'a Play,
    flows: &'a [PlayedFlow],
}

fn summary(
    contender: Contender,
    group: &FlowGroup,
    links: &[Link],
    repetitions: &[Repetition],
) -> GroupSummary {
    let estimate = |of: &dyn Fn(&Repetition) -> Option<f64>| {
        mean(&repetitions.iter().filter_map(of).collect::<Vec<f64>>())
    };
    let flows = || repetitions.iter().flat_map(|repetition| repetition.flows);
    let writes = flows().map(|flow| flow.latencies_s.len()).sum();
    let left = || flows().filter_map(|flow| flow.left);
    GroupSummary {
        contender,
        flow: group.name.clone(),
        flows: group.connections(),
        goodput_mbit: estimate(&|repetition| average(&goodputs(repetition.flows))),
        total_mbit: estimate(&|repetition| {
            let both = [Direction::Forward, Direction::Backward];
            Some(both.iter().filter_map(|way| repetition.total_mbit(*way)).sum())
        }),
        share: estimate(&|repetition| {
            let share = |way| {
                let rate_mbit = group.bottleneck(links, way)? as f64 / 1e6;
                Some(repetition.total_mbit(way)? / rate_mbit)
            };
            let both = [Direction::Forward, Direction::Backward];
            both.into_iter().filter_map(share).max_by(f64::total_cmp)
        }),
        fairness: estimate(&|repetition| fairness(&goodputs(repetition.flows))),
        fairness_of_all: estimate(&|repetition| fairness(&goodputs(&repetition.play.flows))),
        retransmitted: estimate(&|repetition| repetition.retransmitted()),
        writes,
        unfinished: flows().map(|flow| flow.writes).sum::<usize>() - writes,
        mean_s: estimate(&|repetition| average(&repetition.latencies_s())),
        p95_s: estimate(&|repetition| quantile(&repetition.latencies_s(), 0.95)),
        late: estimate(&|repetition| {
            let sum = |of: fn(&Watched) -> u32| -> u32 { repetition.watched().map(of).sum() };
            let pictures = sum(|watched| watched.pictures);
            (pictures > 0).then(|| f64::from(sum(|watched| watched.late)) / f64::from(pictures))
        }),
        frozen_s: estimate(&|repetition| {
            average(&repetition.watched().map(|watched| watched.frozen_s).collect::<Vec<f64>>())
        }),
        srtt_s: estimate(&|repetition| {
            let srtts = repetition.flows.iter().filter_map(|flow| flow.srtt_s);
            average(&srtts.collect::<Vec<f64>>())
        }),
        left_flows: left().count(),
        left_bytes: left().map(|left| left.bytes).sum(),
        held: repetitions.iter().all(|repetition| repetition.play.held()),
    }
}

impl Repetition<'_> {
    /// The goodput of the group in a direction, in Mbit/s, while any of its flows was under way.
    fn total_mbit(&self, way: Direction) -> Option<f64> {
        let bytes: u64 = self.flows.iter().map(|flow| flow.arrived[way as usize]).sum();
        let starts = self.flows.iter().filter_map(|flow| Some(flow.measured_s?.0));
        let ends = self.flows.iter().filter_map(|flow| Some(flow.measured_s?.1));
        let seconds = ends.max_by(f64::total_cmp)? - starts.min_by(f64::total_cmp)?;
        (seconds > 0.0).then(|| 8.0 * bytes as f64 / 1e6 / seconds)
    }

    fn retransmitted(&self) -> Option<f64> {
        let segments: u64 = self.flows.iter().map(|flow| flow.segments).sum();
        let again: u64 = self.flows.iter().map(|flow| flow.retransmissions).sum();
        (segments > 0).then(|| again as f64 / segments as f64)
    }

    fn watched(&self) -> impl Iterator<Item = &Watched> {
        self.flows.iter().filter_map(|flow| flow.watched.as_ref())
    }

    /// The latencies of all writes that arrived, in ascending order.
    fn latencies_s(&self) -> Vec<f64> {
        let mut latencies_s: Vec<f64> =
            self.flows.iter().flat_map(|flow| flow.latencies_s.iter().copied()).collect();
        latencies_s.sort_by(f64::total_cmp);
        latencies_s
    }
}

/// The goodput of each flow that wrote something, in Mbit/s.
fn goodputs(flows: &[PlayedFlow]) -> Vec<f64> {
    flows.iter().map(|flow| flow.goodput.unwrap_or(0.0) / 1e6).collect()
}

fn average(samples: &[f64]) -> Option<f64> {
    mean(samples).map(|mean| mean.value)
}
