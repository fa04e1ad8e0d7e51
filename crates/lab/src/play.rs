//! What came of a simulated contender, flow by flow.

use std::collections::BTreeMap;
use std::ops::Range;

use kirikae_path::{Direction, DropCause, Time};
use kirikae_sim::{FlowOutcome, Left, Written};
use serde::Serialize;

use crate::scenario::{Activity, Contender, FlowGroup, Scenario, Workload};
use crate::sim::Interval;

/// One contender of a scenario, simulated with one seed.
#[derive(Debug)]
pub struct Play {
    /// Who is compared.
    pub contender: Contender,
    /// With which seed.
    pub seed: u64,
    /// When it ended, in seconds.
    pub end_s: f64,
    /// Every flow, group by group in the scenario's order.
    pub flows: Vec<PlayedFlow>,
    /// Both directions of every link, in the scenario's order.
    pub links: Vec<PlayedLink>,
}

/// What came of a flow.
#[derive(Debug, Serialize)]
pub struct PlayedFlow {
    /// The group that it is of.
    pub flow: String,
    /// Its place in the group, from 0.
    pub index: u32,
    /// Whom it played.
    pub played: Contender,
    /// When its applications first wrote, in seconds; none where they had not by the end.
    pub start_s: Option<f64>,
    /// When all had arrived that was ever to be written; otherwise the end of the simulation.
    pub end_s: f64,
    /// From when to when is measured what arrives, in seconds: the time that the scenario says, or
    /// from the first write to the end; none without a first write.
    pub measured_s: Option<(f64, f64)>,
    /// Bytes that arrived in order in that time: of what the client wrote, of what the server wrote.
    pub arrived: [u64; 2],
    /// Both, in bit/s.
    pub goodput: Option<f64>,
    /// Segments with data that both ends sent.
    pub segments: u64,
    /// How many of them had been sent before.
    pub retransmissions: u64,
    /// The client's smoothed round-trip time at the end, in seconds.
    pub srtt_s: Option<f64>,
    /// What was left to do at the end, if anything was.
    pub left: Option<Left>,
    /// Writes that count: no warm-up, no bulk, a request and its response being one.
    pub writes: usize,
    /// Latencies in seconds of those that arrived: from the start of the write, or of the request, to
    /// the last byte in order.
    pub latencies_s: Vec<f64>,
}

/// What a direction of a link did.
#[derive(Debug, Serialize)]
pub struct PlayedLink {
    /// The link's name.
    pub link: String,
    /// Which way.
    pub direction: Direction,
    /// Packets that entered.
    pub offered: u64,
    /// Packets that left.
    pub delivered: u64,
    /// Packets dropped, by cause.
    pub dropped: BTreeMap<DropCause, u64>,
    /// Packets still under way at the end.
    pub inside: u64,
}

impl Play {
    pub(crate) fn new(
        scenario: &Scenario,
        contender: Contender,
        seed: u64,
        outcome: &kirikae_sim::Outcome,
        interval: Option<&Interval>,
    ) -> Play {
        let members = scenario
            .flows
            .iter()
            .flat_map(|group| (0..group.count).map(move |index| (group, index)));
        let mut left = outcome.left.iter().peekable();
        let flows =
            (0..).zip(members).zip(&outcome.flows).map(|((place, (group, index)), flow)| {
                let left = left.next_if(|left| left.flow == place).copied();
                let played = group.contender.unwrap_or(contender);
                let interval = interval.map(|interval| (interval.time(), interval.arrived(place)));
                PlayedFlow::new(group, index, played, flow, left, outcome.end, interval)
            });
        let links = outcome.links.iter().map(|way| PlayedLink {
            link: scenario.links[way.hop.link].name.clone(),
            direction: way.hop.direction,
            offered: way.offered,
            delivered: way.delivered,
            dropped: way.dropped.clone(),
            inside: way.inside,
        });
        Play {
            contender,
            seed,
            end_s: seconds(outcome.end),
            flows: flows.collect(),
            links: links.collect(),
        }
    }
}

impl PlayedFlow {
    fn new(
        group: &FlowGroup,
        index: u32,
        played: Contender,
        flow: &FlowOutcome,
        left: Option<Left>,
        end: Time,
        interval: Option<(&Range<Time>, [u64; 2])>,
    ) -> PlayedFlow {
        let both = || flow.client.iter().chain(&flow.server);
        let last = both().filter_map(|write| write.last).max();
        let end_s = seconds(last.filter(|_| left.is_none()).unwrap_or(end));
        let start_s = both().map(|write| write.start).min().map(seconds);
        let (measured_s, arrived) = match interval {
            Some((time, arrived)) => (Some((seconds(time.start), seconds(time.end))), arrived),
            None => {
                let arrived = flow.traffic.map(|traffic| traffic.arrived);
                (start_s.map(|start_s| (start_s, end_s)), arrived)
            }
        };
        let bits = 8.0 * (arrived[0] + arrived[1]) as f64;
        let [client, server] = &flow.traffic;
        let writes: Vec<(Time, Option<Time>)> = (0..)
            .zip(&group.activities)
            .flat_map(|(place, activity)| exchanges(flow, place, activity))
            .collect();
        let latency =
            |(start, last): &(Time, Option<Time>)| Some(((*last)? - *start).as_secs_f64());
        PlayedFlow {
            flow: group.name.clone(),
            index,
            played,
            start_s,
            end_s,
            measured_s,
            arrived,
            goodput: measured_s.filter(|(from, to)| to > from).map(|(from, to)| bits / (to - from)),
            segments: client.segments + server.segments,
            retransmissions: client.retransmissions + server.retransmissions,
            srtt_s: client.srtt.map(|srtt| srtt.as_secs_f64()),
            left,
            writes: writes.len(),
            latencies_s: writes.iter().filter_map(latency).collect(),
        }
    }
}

/// The start of each write of an activity that counts, and when it had arrived, if it did: of a request
/// its response. `place` is the activity's among the flow's.
pub(crate) fn exchanges(
    flow: &FlowOutcome,
    place: usize,
    activity: &Activity,
) -> Vec<(Time, Option<Time>)> {
    let own = |writes: &[Written]| -> Vec<Written> {
        writes.iter().filter(|write| write.activity == place).copied().collect()
    };
    let client = own(&flow.client);
    match &activity.workload {
        Workload::Simulated(kirikae_sim::Workload::Bulk { .. }) => Vec::new(),
        Workload::Simulated(kirikae_sim::Workload::Requests { .. }) => {
            let responses = own(&flow.server);
            let last = |place: usize| responses.get(place).and_then(|response| response.last);
            (0..).zip(&client).map(|(place, request)| (request.start, last(place))).collect()
        }
        other => {
            let counted = client.iter().skip(other.warmup() as usize);
            counted.map(|write| (write.start, write.last)).collect()
        }
    }
}

fn seconds(time: Time) -> f64 {
    (time - Time::ZERO).as_secs_f64()
}
