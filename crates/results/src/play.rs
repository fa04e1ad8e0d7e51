//! The results of a contender, flow by flow, in virtual time or in real.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use kirikae_path::{Direction, DropCause, Time};
use kirikae_scenario::{Activity, Contender, FlowGroup, Workload};
use kirikae_sim::{Left, Traffic, Written};
use kirikae_vocabulary::{DirectionReport, Report, Switch, TimingError};
use serde::{Deserialize, Serialize};

use crate::contest::Contest;
use crate::watched::Watched;

/// The course of a contest, before it is compared with anything.
#[derive(Debug)]
pub struct Course {
    /// When it began, on the clock of switches and drops, in nanoseconds: CLOCK_MONOTONIC, or 0 in virtual
    /// time.
    pub begin_ns: u64,
    /// When it ended.
    pub end: Time,
    /// Every flow, group by group in the scenario's order.
    pub flows: Vec<FlowCourse>,
    /// What the links did, in the scenario's order.
    pub links: Vec<Report>,
    /// Whether its time was real.
    pub is_real: bool,
}

/// The course of a flow.
#[derive(Debug, Serialize, Deserialize)]
pub struct FlowCourse {
    /// The writes of the client, and of the server.
    pub written: [Vec<Written>; 2],
    /// The traffic that they caused: of the client, and of the server.
    pub traffic: [Traffic; 2],
    /// What was not finished at the end, if anything.
    pub left: Option<Left>,
    /// Bytes that arrived in the time in which the scenario measures: of the client's, and of the server's.
    /// None if the scenario names no such time.
    pub measured: Option<[u64; 2]>,
    /// TCP_CONGESTION of the [sender](FlowGroup::sender) just before each of its writes and when that had returned.
    pub algorithms: Vec<[Cow<'static, str>; 2]>,
    /// The switches of the sender's congestion control, in order of time.
    pub switches: Vec<Switch>,
    /// The client's port.
    pub port: u16,
}

/// One contender of a scenario with one seed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Play {
    /// The contender that is compared.
    pub contender: Contender,
    /// The seed.
    pub seed: u64,
    /// When it ended, in seconds.
    pub end_s: f64,
    /// Every flow, group by group in the scenario's order.
    pub flows: Vec<PlayedFlow>,
    /// Both directions of every link, in the scenario's order.
    pub links: Vec<PlayedLink>,
}

/// The results of a flow.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlayedFlow {
    /// Name of its group.
    pub flow: String,
    /// Its index in the group, from 0.
    pub index: u32,
    /// The contender that it played.
    pub played: Contender,
    /// When its applications first wrote, in seconds; None if they did not write until the end.
    pub start_s: Option<f64>,
    /// When everything had arrived that it was ever to write, in seconds; otherwise the end of the run.
    pub end_s: f64,
    /// The begin and end, in seconds, of the time in which arrivals are measured: that which the scenario
    /// names, or from the first write to the end. None without a first write.
    pub measured_s: Option<(f64, f64)>,
    /// Bytes that arrived in order in that time: of the client's, and of the server's.
    pub arrived: [u64; 2],
    /// The goodput of both directions together, in bit/s.
    pub goodput: Option<f64>,
    /// Segments with data that both ends sent.
    pub segments: u64,
    /// How many of them had been sent before.
    pub retransmissions: u64,
    /// The sender's smoothed round-trip time at the end, in seconds.
    pub srtt_s: Option<f64>,
    /// What was not finished at the end, if anything.
    pub left: Option<Left>,
    /// Number of writes that count. Warm-up and bulk do not; a request and its response are one.
    pub writes: usize,
    /// Latencies in seconds of the writes that arrived, from the start of the write, or of the request, to
    /// the last byte in order.
    pub latencies_s: Vec<f64>,
    /// The results of its video, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
    /// The switches of the sender's congestion control, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<Switch>,
}

/// What a direction of a link did.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlayedLink {
    /// The link's name.
    pub link: String,
    /// The direction.
    pub direction: Direction,
    /// Packets that entered.
    pub offered: u64,
    /// Packets that left.
    pub delivered: u64,
    /// Packets dropped, by cause.
    pub dropped: BTreeMap<DropCause, u64>,
    /// Packets still under way at the end.
    pub inside: u64,
    /// How much later than its time a packet was written to its host; None in virtual time, which is exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing_error: Option<TimingError>,
    /// Whether the link behaved as described; see [`Report::held`].
    pub held: bool,
}

impl Play {
    /// Turns the course of a contest into the results by which contenders are compared.
    pub fn new(contest: &Contest, course: &Course) -> Play {
        let &Contest { scenario, contender, seed } = contest;
        let flows = scenario.connections().zip(&course.flows).map(|((group, index), flow)| {
            let played = group.contender.unwrap_or(contender);
            let measured = scenario.measured.as_ref().zip(flow.measured);
            PlayedFlow::new(group, index, played, flow, course.end, measured)
        });
        let links = scenario.links.iter().zip(&course.links).flat_map(|(link, report)| {
            let ways =
                [(Direction::Forward, &report.forward), (Direction::Backward, &report.backward)];
            ways.map(|(way, report)| PlayedLink::new(&link.name, way, report, course.is_real))
        });
        Play {
            contender,
            seed,
            end_s: seconds(course.end),
            flows: flows.collect(),
            links: links.collect(),
        }
    }

    /// Whether all links behaved as described; see [`Report::held`].
    pub fn held(&self) -> bool {
        self.links.iter().all(|link| link.held)
    }
}

impl PlayedLink {
    fn new(
        link: &str,
        direction: Direction,
        report: &DirectionReport,
        is_real: bool,
    ) -> PlayedLink {
        PlayedLink {
            link: link.into(),
            direction,
            offered: report.offered,
            delivered: report.delivered,
            dropped: report.dropped.clone(),
            inside: report.inside,
            timing_error: is_real.then_some(report.timing_error),
            held: report.held(),
        }
    }
}

impl PlayedFlow {
    fn new(
        group: &FlowGroup,
        index: u32,
        played: Contender,
        flow: &FlowCourse,
        end: Time,
        interval: Option<(&Range<Time>, [u64; 2])>,
    ) -> PlayedFlow {
        let both = || flow.written.iter().flatten();
        let last = both().filter_map(|write| write.last).max();
        let end_s = seconds(last.filter(|_| flow.left.is_none()).unwrap_or(end));
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
        let [asked, answered] = &flow.written;
        let writes = exchanges(group, index, asked, answered);
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
            srtt_s: flow.traffic[group.sender() as usize].srtt.map(|srtt| srtt.as_secs_f64()),
            left: flow.left,
            writes: writes.len(),
            latencies_s: writes.iter().filter_map(latency).collect(),
            watched: watched(group, asked, end),
            switches: flow.switches.clone(),
        }
    }
}

/// The results of the video of a flow, if it has one, whose client wrote this.
fn watched(group: &FlowGroup, client: &[Written], end: Time) -> Option<Watched> {
    group.activities.iter().enumerate().find_map(|(place, activity)| match &activity.workload {
        Workload::Simulated(kirikae_sim::Workload::Video(video)) => {
            Watched::of(video, &own(client, place), end)
        }
        _ => None,
    })
}

/// The writes of the activity with that index in the flow.
fn own(writes: &[Written], place: usize) -> Vec<Written> {
    writes.iter().filter(|write| write.activity == place).copied().collect()
}

/// For each write that counts of the connection of this index in a group: its start, and when it had arrived,
/// or its response if it is a request; None if it did not arrive. `client` and `server` are what the two ends
/// of the connection wrote.
pub fn exchanges(
    group: &FlowGroup,
    index: u32,
    client: &[Written],
    server: &[Written],
) -> Vec<(Time, Option<Time>)> {
    match group.answers() {
        Some(bursts) if bursts.is_warmup(index) => Vec::new(),
        Some(_) => server.iter().map(|answer| (answer.start, answer.last)).collect(),
        None => (0..)
            .zip(&group.activities)
            .flat_map(|(place, activity)| exchanges_of(client, server, place, activity))
            .collect(),
    }
}

/// The same of the activity of this place on a connection that carries several.
fn exchanges_of(
    client: &[Written],
    server: &[Written],
    place: usize,
    activity: &Activity,
) -> Vec<(Time, Option<Time>)> {
    let client = own(client, place);
    match &activity.workload {
        bulk if bulk.is_bulk() => Vec::new(),
        Workload::Simulated(kirikae_sim::Workload::Requests { .. }) => {
            let responses = own(server, place);
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
