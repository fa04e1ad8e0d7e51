//! One contender of a scenario as a simulation; and what came of it, in the bench's terms.

use std::borrow::Cow;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use kirikae_agent::{Reason, Switch};
use kirikae_algorithms::{Algorithm, Bpftune, Rule, Switcher};
use kirikae_emu::{DirectionReport, DroppedPacket, Report, Segment, TimingError};
use kirikae_path::{Direction, Span, Time, stream_seed};
use kirikae_policy::Scope;
use kirikae_sim::{
    Activity, DirectionOutcome, Flow, FlowOutcome, Hop, Host, Routes, Simulation, Workload, Write,
    Written, staggered,
};
use kirikae_table::thesis;
use kirikae_tcp::Control;

use super::Interval;
use crate::contest::Contest;
use crate::controls::Controls;
use crate::play::{Course, FlowCourse};
use crate::scenario::{self, Contender, FlowGroup, Scenario};
use crate::workload::schedule;

/// Time for the handshake before the first burst is due.
const RUN_UP: Span = Span::from_secs(2);
/// How long after the last burst was due a run may still take.
const PATIENCE: Span = Span::from_secs(60);
/// Labels of the streams of start times and of burst spacing, under the simulation's seed; those
/// below are the simulator's.
const GROUPS: u64 = 6;
const BURSTS: u64 = 7;
/// The ports that the records and captures show; a simulated connection has none.
pub(super) const PORTS: (u16, u16) = (20_000, 5201);

/// The scenario with one contender and one of its seeds.
pub(crate) fn simulation(
    scenario: &Scenario,
    contender: Contender,
    seed: u64,
    controls: &Controls,
) -> Simulation {
    let mut flows: Vec<Flow> = Vec::new();
    for (place, group) in (0..).zip(&scenario.flows) {
        let stagger = group.stagger.unwrap_or_default();
        let starts = staggered(group.count as usize, stagger, stream_seed(seed, &[GROUPS, place]));
        let client = host(scenario, group.contender.unwrap_or(contender), controls);
        let server = host(scenario, Contender::BASELINE, controls);
        for start in starts {
            flows.push(Flow {
                start: start + group.start,
                routes: routes(group),
                client: client.clone(),
                server: server.clone(),
                activities: activities(scenario, group, flows.len() as u64, seed),
                mobile: group.mobile.clone(),
            });
        }
    }
    let duration = scenario.duration.unwrap_or_else(|| last_write(&flows) + PATIENCE);
    let links = scenario.links.iter().map(|link| link.path.clone()).collect();
    Simulation { seed, links, flows, duration }
}

fn routes(group: &FlowGroup) -> Routes {
    let hop = |direction| move |&link: &usize| Hop { link, direction };
    Routes {
        forward: group.forward.iter().map(hop(Direction::Forward)).collect(),
        backward: group.backward.iter().map(hop(Direction::Backward)).collect(),
    }
}

/// What is done on a flow; `flow` is its place among all.
fn activities(scenario: &Scenario, group: &FlowGroup, flow: u64, seed: u64) -> Vec<Activity> {
    let run_up = if scenario.timed().is_some() { RUN_UP } else { Span::ZERO };
    let activity = |(place, activity): (u64, &scenario::Activity)| Activity {
        after: run_up + activity.after,
        workload: match &activity.workload {
            scenario::Workload::Bursts(bursts) => {
                // The first as on the real kernel.
                let first = flow == 0 && place == 0;
                let seed = if first { seed } else { stream_seed(seed, &[BURSTS, flow, place]) };
                let due = schedule::due_times(bursts, seed)
                    .into_iter()
                    .map(|due| Span::try_from(due).expect("a schedule of less than 584 years"));
                let sizes = schedule::sizes(bursts, seed);
                let writes = due.zip(sizes).map(|(at, bytes)| Write { at, bytes }).collect();
                if bursts.overlap { Workload::Writes(writes) } else { Workload::OneByOne(writes) }
            }
            scenario::Workload::Writes(recorded) => Workload::Writes(recorded.writes.clone()),
            scenario::Workload::Simulated(workload) => workload.clone(),
        },
    };
    (0..).zip(&group.activities).map(activity).collect()
}

/// When the last write is due whose time is known beforehand.
fn last_write(flows: &[Flow]) -> Span {
    let activities = flows.iter().flat_map(|flow| {
        flow.activities.iter().map(|activity| (flow.start - Time::ZERO + activity.after, activity))
    });
    let last = |(begin, activity): (Span, &Activity)| match &activity.workload {
        Workload::Writes(writes) | Workload::OneByOne(writes) => {
            begin + writes.last().map_or(Span::ZERO, |write| write.at)
        }
        _ => begin,
    };
    activities.map(last).max().unwrap_or_default()
}

fn host(scenario: &Scenario, contender: Contender, controls: &Controls) -> Host {
    let mut profile = scenario.stack.clone();
    if contender == Contender::CubicWithoutIdleRestart {
        profile.idle_restart = false;
    }
    Host { profile: Arc::new(profile), control: control(scenario, contender, controls).into() }
}

fn control(scenario: &Scenario, contender: Contender, controls: &Controls) -> Control {
    let algorithms = &controls.algorithms;
    let name = contender.congestion_control();
    let named = |name| algorithms.iter().copied().find(|algorithm| algorithm.name() == name);
    let algorithm = named(name)
        .or_else(|| Algorithm::stock(name))
        .expect("a contender is one of ours or stock");
    let rule = match contender {
        Contender::Stock(_) | Contender::Fixed(_) | Contender::CubicWithoutIdleRestart => None,
        Contender::Kirikae | Contender::KirikaeOnBbr => {
            Some(Rule::Switcher(switcher(controls.scope(scenario), algorithms)))
        }
        Contender::RTcp => Some(Rule::Switcher(thesis(&scenario.scope, algorithms))),
        Contender::Bpftune => {
            let bbr = Algorithm::stock("bbr").expect("the kernel has one");
            Some(Rule::Bpftune(Bpftune::new(bbr)))
        }
    };
    Control { algorithm, switcher: rule }
}

const OURS: &str = "the table's algorithms are ours";

fn switcher(scope: Scope, algorithms: &[Algorithm]) -> Switcher {
    let table = Arc::clone(&scope.table);
    let policy = kirikae_interface::policy::one(scope.kernel_scope(0));
    Switcher::new(policy, vec![table], algorithms).expect(OURS)
}

/// R-TCP as published has the period of the scope, and nothing else that an operator may say.
fn thesis(scope: &Scope, algorithms: &[Algorithm]) -> Switcher {
    let table = thesis::published().expect("the thesis' tables are good");
    let policy = kirikae_interface::policy::one(kirikae_interface::scope {
        flags: kirikae_interface::SCOPE_KERNEL_TIMEOUTS,
        period_us: scope.period.fixed_us(),
        ..Default::default()
    });
    Switcher::thesis(policy, table, algorithms).expect(OURS)
}

/// The course of a contest. Only of what is compared write by write dropped packets are told one by
/// one.
pub(super) fn course(
    contest: Contest,
    outcome: kirikae_sim::Outcome,
    interval: Option<&Interval>,
) -> Course {
    let Contest { scenario, contender, .. } = contest;
    let timed = scenario.timed().is_some();
    let links = outcome.links.chunks(2).map(|ways| Report {
        forward: direction(&ways[0]),
        backward: direction(&ways[1]),
        drops: if timed { drops(ways) } else { Vec::new() },
        held: true,
    });
    let links = links.collect();
    let mut left = outcome.left.into_iter().peekable();
    let flows = (0..).zip(outcome.flows).map(|(place, flow)| FlowCourse {
        algorithms: if timed { algorithms(contender, &flow) } else { Vec::new() },
        traffic: flow.traffic,
        left: left.next_if(|left| left.flow == place),
        measured: interval.map(|interval| interval.arrived(place)),
        switches: flow.switches.iter().map(|(at, switch)| reported(*at, switch)).collect(),
        written: [flow.client, flow.server],
        port: PORTS.0,
    });
    Course { begin_ns: 0, end: outcome.end, flows: flows.collect(), links, is_real: false }
}

/// What was in use at each of the client's writes, which take no time.
fn algorithms(contender: Contender, flow: &FlowOutcome) -> Vec<[Cow<'static, str>; 2]> {
    let in_use = |write: &Written| {
        let before = flow.switches.iter().take_while(|(switched, _)| *switched <= write.start);
        let last = before.last().map(|(_, switch)| switch.to.name());
        let name = last.unwrap_or(contender.congestion_control());
        [name.into(), name.into()]
    };
    flow.client.iter().map(in_use).collect()
}

/// A switch as the agent reports one.
fn reported(at: Time, switch: &kirikae_algorithms::Switch) -> Switch {
    let end = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let mut predicted_s: Vec<(String, f64)> = switch
        .predicted_us
        .iter()
        .map(|(name, us)| (String::from(*name), f64::from(*us) / 1e6))
        .collect();
    predicted_s.sort_by(|a, b| a.1.total_cmp(&b.1));
    let reason =
        if predicted_s.is_empty() { Reason::RetransmitRate } else { Reason::PredictedLatency };
    Switch {
        at_ns: at.as_nanos(),
        local: end(PORTS.0),
        remote: end(PORTS.1),
        namespace: 0,
        from: switch.from.name().into(),
        to: switch.to.name().into(),
        reason,
        observed: switch.observed,
        rtt_s: f64::from(switch.rtt_us) / 1e6,
        rate_bit_s: kirikae_agent::rate_bit_s(switch.rate),
        burst_bytes: (switch.burst > 0).then_some(switch.burst),
        stream_share: kirikae_agent::stream_share(switch.share),
        isolated_loss: f64::from(switch.isolated_ppb) / 1e9,
        burst_loss: f64::from(switch.burst_ppb) / 1e9,
        predicted_s,
    }
}

/// In virtual time nothing is late.
fn direction(outcome: &DirectionOutcome) -> DirectionReport {
    DirectionReport {
        offered: outcome.offered,
        delivered: outcome.delivered,
        dropped: outcome.dropped.clone(),
        inside: outcome.inside,
        device_drops: 0,
        timing_error: TimingError { p50_us: 0.0, p99_us: 0.0, max_us: 0.0 },
        late_limit_us: 0.0,
        late: 0,
    }
}

/// Both directions' drops in order of time.
fn drops(links: &[DirectionOutcome]) -> Vec<DroppedPacket> {
    let mut drops: Vec<DroppedPacket> = links
        .iter()
        .flat_map(|link| {
            link.drops.iter().map(|drop| {
                let (source_port, destination_port) = match drop.from {
                    kirikae_sim::End::Client => PORTS,
                    kirikae_sim::End::Server => (PORTS.1, PORTS.0),
                };
                let payload_bytes = (drop.stream.end - drop.stream.start) as u32;
                let stream_offset = drop.stream.start as u32;
                DroppedPacket {
                    monotonic_ns: drop.at.as_nanos(),
                    direction: link.hop.direction,
                    number: drop.number,
                    cause: drop.cause,
                    segment: Some(Segment {
                        source_port,
                        destination_port,
                        syn: false,
                        sequence: stream_offset.wrapping_add(1),
                        payload_bytes,
                        stream_offset: Some(stream_offset),
                    }),
                }
            })
        })
        .collect();
    drops.sort_by_key(|drop| drop.monotonic_ns);
    drops
}
