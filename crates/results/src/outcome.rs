//! The outcome of a run: every burst in relation to what its path did.

use std::borrow::Cow;
use std::path::PathBuf;

use kirikae_path::{Direction, Span, Time};
use kirikae_scenario::{Contender, Scenario};
use kirikae_sim::Written;
use kirikae_vocabulary::{Report, Switch};
use serde::{Deserialize, Serialize};

use crate::bound::{Bound, Lost};
use crate::contest::Contest;
use crate::play::{Course, FlowCourse, Play};
use crate::recovery::recoveries;

/// A whole run.
#[derive(Debug)]
pub struct Outcome {
    /// One comparison for each scenario, in the order of the scenarios.
    pub comparisons: Vec<Comparison>,
    /// Whether a signal ended the run before its schedule did.
    pub interrupted: bool,
    /// Where the records are, if any were asked for.
    pub records: Option<PathBuf>,
}

/// All contenders of one scenario.
#[derive(Debug)]
pub struct Comparison {
    /// The scenario.
    pub scenario: Scenario,
    /// The results write by write, one for each contender and seed, contender by contender in the scenario's
    /// order. Empty if the scenario is not [`Scenario::timed`].
    pub performances: Vec<Performance>,
    /// The results flow by flow, in the same order.
    pub plays: Vec<Play>,
}

/// One contender of one scenario, once.
#[derive(Debug, Serialize, Deserialize)]
pub struct Performance {
    /// The contender.
    pub contender: Contender,
    /// The seed.
    pub seed: u64,
    /// Every burst that was written, warm-up included.
    pub bursts: Vec<Burst>,
    /// Counted bursts that should have arrived and did not; 0 if the run was interrupted.
    pub unfinished: u32,
    /// The latest time at which it ended, in the bursts' clock, nanoseconds.
    pub end_ns: u64,
    /// The switches of its connections, in order of time.
    pub switches: Vec<Switch>,
    /// For each outage of its path that ended, the seconds until something new arrived; None if nothing did.
    pub recoveries: Vec<Option<f64>>,
    /// What its path did.
    pub report: Report,
}

/// One burst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Its number, from 0, warm-up included.
    pub index: u32,
    /// Whether it is left out of the statistics.
    pub warmup: bool,
    /// Start of its write, or of its connection where it has its own, CLOCK_MONOTONIC in nanoseconds.
    pub start_ns: u64,
    /// TCP_CONGESTION just before the write.
    pub algorithm_before: Cow<'static, str>,
    /// TCP_CONGESTION when the write had returned.
    pub algorithm_after: Cow<'static, str>,
    /// Switches of the connection until the burst had arrived.
    pub switches: usize,
    /// Its arrival, if it did arrive.
    #[serde(flatten)]
    pub delivery: Option<Delivery>,
}

/// The arrival of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Start of the write, or of the connection that asks for it, to last byte in order, in seconds.
    pub latency_s: f64,
    /// From the first byte in order to the last byte in order, in seconds.
    pub first_to_last_s: f64,
    /// The least latency that was possible, in seconds; see [`Bound::seconds`].
    pub bound_s: f64,
}

impl Performance {
    /// The performance in a scenario that is [`Scenario::timed`]. If the run was interrupted, nothing counts
    /// as missing.
    pub fn new(contest: &Contest, course: &Course, interrupted: bool) -> Performance {
        let &Contest { scenario, contender, seed } = contest;
        let (path, workload) = scenario.timed().expect("nothing else is measured write by write");
        let [report] = &course.links[..] else { unreachable!("over one link") };
        let bound = Bound::new(path, scenario.stack.mtu);
        let bound = if workload.answers().is_some() { bound.of_answers() } else { bound };
        let sender = scenario.flows[0].sender() as usize;
        let clock_ns = |at: Time| course.begin_ns + at.as_nanos();
        // All of one flow, or one of each.
        let of_flow = |(first, flow): (u32, &FlowCourse)| -> Vec<Burst> {
            let lost = lost(report, flow.port);
            let burst = |(place, write): (usize, &Written)| {
                let index = first + place as u32;
                let until = write.last.map_or(u64::MAX, clock_ns);
                // There are none of a connection that was never established.
                let [before, after] = flow.algorithms.get(place).cloned().unwrap_or_default();
                Burst {
                    index,
                    warmup: index < workload.warmup(),
                    start_ns: clock_ns(write.start),
                    algorithm_before: before,
                    algorithm_after: after,
                    switches: flow.switches.iter().filter(|switch| switch.at_ns <= until).count(),
                    delivery: write.last.map(|_| delivery(write, until, &bound, &lost)),
                }
            };
            flow.written[sender].iter().enumerate().map(burst).collect()
        };
        let bursts: Vec<Burst> = (0..).zip(&course.flows).flat_map(of_flow).collect();
        let mut switches: Vec<Switch> =
            course.flows.iter().flat_map(|flow| &flow.switches).cloned().collect();
        switches.sort_by_key(|switch| switch.at_ns);
        let finished = bursts.iter().filter(|burst| !burst.warmup && burst.delivery.is_some());
        let unfinished = if interrupted { 0 } else { workload.count() - finished.count() as u32 };
        Performance {
            contender,
            seed,
            bursts,
            unfinished,
            end_ns: clock_ns(course.end),
            switches,
            recoveries: match &course.flows[..] {
                [flow] => recoveries(path, &flow.written[sender], course.end),
                // Each write has a connection of its own.
                _ => Vec::new(),
            },
            report: report.clone(),
        }
    }

    /// The arrivals of all bursts that count, with their numbers.
    pub fn counted(&self) -> impl Iterator<Item = (u32, Delivery)> {
        let counted = self.bursts.iter().filter(|burst| !burst.warmup);
        counted.filter_map(|burst| Some((burst.index, burst.delivery?)))
    }

    /// For each burst that counts and was written, its number and how long it took, in seconds: its latency,
    /// or if it should have arrived and did not, how long it had waited at the end.
    pub fn waits(&self) -> impl Iterator<Item = (u32, f64)> {
        let counted = self.bursts.iter().filter(|burst| !burst.warmup);
        counted.filter_map(|burst| {
            let waited = || self.end_ns.saturating_sub(burst.start_ns) as f64 / 1e9;
            let latency = burst.delivery.map(|delivery| delivery.latency_s);
            Some((burst.index, latency.or_else(|| (self.unfinished > 0).then(waited))?))
        })
    }

    /// Bursts that should have been written and were not.
    pub fn unwritten(&self) -> u32 {
        let missing = |burst: &&Burst| !burst.warmup && burst.delivery.is_none();
        let waiting = self.bursts.iter().filter(missing).count() as u32;
        self.unfinished.saturating_sub(waiting)
    }
}

/// The arrival of a write whose last byte arrived at `last_ns`, on the clock of the drops.
fn delivery(write: &Written, last_ns: u64, bound: &Bound, lost: &[Lost]) -> Delivery {
    let seconds = |span: Option<Span>| span.map_or(0.0, Span::as_secs_f64);
    Delivery {
        latency_s: seconds(write.latency()),
        first_to_last_s: seconds(write.first_to_last()),
        bound_s: bound.seconds(write.range(), last_ns, lost),
    }
}

/// What the channel lost of the stream that was sent on the connection of this client's port.
fn lost(report: &Report, port: u16) -> Vec<Lost> {
    report
        .drops
        .iter()
        .filter(|drop| drop.direction == Direction::Forward && drop.cause.is_channel_loss())
        .filter_map(|drop| {
            let segment =
                drop.segment.filter(|it| it.source_port == port || it.destination_port == port)?;
            let start = u64::from(segment.stream_offset?);
            let range = start..start + u64::from(segment.payload_bytes);
            Some(Lost { range, at_ns: drop.monotonic_ns })
        })
        .collect()
}
