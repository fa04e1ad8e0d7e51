//! What came out of a run: every burst in relation to what its path did.

use std::borrow::Cow;
use std::path::PathBuf;

use kirikae_agent::Switch;
use kirikae_emu::Report;
use kirikae_path::Direction;
use serde::{Deserialize, Serialize};

use crate::bound::{Bound, Lost};
use crate::play::Play;
use crate::scenario::{Contender, Scenario};
use crate::workload::receiver::Arrival;
use crate::workload::sender::Sent;

/// A whole run.
#[derive(Debug)]
pub struct Outcome {
    /// One for each scenario, in the order they were given.
    pub comparisons: Vec<Comparison>,
    /// Whether a signal ended the run before its schedule did.
    pub interrupted: bool,
    /// Where the records are, if any were asked for.
    pub records: Option<PathBuf>,
}

/// All contenders of one scenario.
#[derive(Debug)]
pub struct Comparison {
    /// What was compared.
    pub scenario: Scenario,
    /// Write by write, one for each contender and seed, contender by contender in the scenario's
    /// order; none where the scenario is not [`Scenario::timed`].
    pub performances: Vec<Performance>,
    /// Flow by flow, in the same order; none of the real kernel.
    pub plays: Vec<Play>,
}

/// What was measured of one contender, before it is put in relation to the path.
pub(crate) struct Measured {
    /// Bursts as they were written, without those never written.
    pub sent: Vec<Sent>,
    /// Bursts that arrived complete, in order.
    pub arrivals: Vec<Arrival>,
    /// The switches of its connection, in order of time.
    pub switches: Vec<Switch>,
    /// When it ended at the latest, in the bursts' clock, nanoseconds.
    pub end_ns: u64,
    /// The sender's port.
    pub port: u16,
    /// What the path did.
    pub report: Report,
}

/// One contender of one scenario, once.
#[derive(Debug)]
pub struct Performance {
    /// Who.
    pub contender: Contender,
    /// With which seed.
    pub seed: u64,
    /// Every burst that was written, warm-up included.
    pub bursts: Vec<Burst>,
    /// Counted bursts that should have arrived and did not; a run that was interrupted has none.
    pub unfinished: u32,
    /// When it ended at the latest, in the bursts' clock, nanoseconds.
    pub end_ns: u64,
    /// The switches of its connection, in order of time.
    pub switches: Vec<Switch>,
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
    /// Start of its write, CLOCK_MONOTONIC in nanoseconds, see [`Sent::start_ns`].
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
    /// Start of the write to last byte in order, in seconds.
    pub latency_s: f64,
    /// First byte in order to last byte in order, in seconds.
    pub first_to_last_s: f64,
    /// The least latency that was possible, in seconds, see [`Bound::seconds`].
    pub bound_s: f64,
}

impl Comparison {
    /// Takes one measurement for each contender and seed of the scenario from `measured`, as long
    /// as there are any.
    pub(crate) fn new(
        scenario: &Scenario,
        measured: &mut impl Iterator<Item = Measured>,
        interrupted: bool,
    ) -> Comparison {
        let performances = scenario
            .contenders
            .iter()
            .flat_map(|&contender| scenario.seeds().map(move |seed| (contender, seed)))
            .zip(measured)
            .map(|((contender, seed), measured)| {
                Performance::new(scenario, contender, seed, measured, interrupted)
            })
            .collect();
        Comparison { scenario: scenario.clone(), performances, plays: Vec::new() }
    }
}

impl Performance {
    pub(crate) fn new(
        scenario: &Scenario,
        contender: Contender,
        seed: u64,
        measured: Measured,
        interrupted: bool,
    ) -> Performance {
        let (path, workload) = scenario.timed().expect("nothing else is measured write by write");
        let bound = Bound::new(path, scenario.stack.mtu);
        let lost = lost(&measured);
        let switches = &measured.switches;
        let burst = |sent: &Sent| {
            let arrival = measured.arrivals.get(sent.index as usize);
            let until = arrival.map_or(u64::MAX, |arrival| arrival.last_ns);
            Burst {
                index: sent.index,
                warmup: sent.index < workload.warmup(),
                start_ns: sent.start_ns,
                algorithm_before: sent.algorithm_before.clone(),
                algorithm_after: sent.algorithm_after.clone(),
                switches: switches.iter().filter(|switch| switch.at_ns <= until).count(),
                delivery: arrival.map(|arrival| delivery(sent, arrival, &bound, &lost)),
            }
        };
        let bursts: Vec<Burst> = measured.sent.iter().map(burst).collect();
        let finished = bursts.iter().filter(|burst| !burst.warmup && burst.delivery.is_some());
        let unfinished = if interrupted { 0 } else { workload.count() - finished.count() as u32 };
        Performance {
            contender,
            seed,
            bursts,
            unfinished,
            end_ns: measured.end_ns,
            switches: measured.switches,
            report: measured.report,
        }
    }

    /// The arrivals of all bursts that count, with their numbers.
    pub fn counted(&self) -> impl Iterator<Item = (u32, Delivery)> {
        let counted = self.bursts.iter().filter(|burst| !burst.warmup);
        counted.filter_map(|burst| Some((burst.index, burst.delivery?)))
    }

    /// How long each burst took that counts and was written, in seconds, with their numbers: its
    /// latency or, where it should have arrived and did not, how long it had waited at the end.
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

fn delivery(sent: &Sent, arrival: &Arrival, bound: &Bound, lost: &[Lost]) -> Delivery {
    let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
    let range = sent.offset..sent.offset + sent.bytes;
    Delivery {
        latency_s: seconds(sent.start_ns, arrival.last_ns),
        first_to_last_s: seconds(arrival.first_ns, arrival.last_ns),
        bound_s: bound.seconds(range, arrival.last_ns, lost),
    }
}

/// What the channel lost of the stream.
fn lost(measured: &Measured) -> Vec<Lost> {
    measured
        .report
        .drops
        .iter()
        .filter(|drop| drop.direction == Direction::Forward && drop.cause.is_channel_loss())
        .filter_map(|drop| {
            let segment = drop.segment.filter(|segment| segment.source_port == measured.port)?;
            let start = u64::from(segment.stream_offset?);
            let range = start..start + u64::from(segment.payload_bytes);
            Some(Lost { range, at_ns: drop.monotonic_ns })
        })
        .collect()
}
