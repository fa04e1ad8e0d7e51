//! One contender of a scenario as a simulation, and what came of it in the bench's terms.

use std::sync::Arc;

use kirikae_algorithms::Algorithm;
use kirikae_emu::{DirectionReport, DroppedPacket, Report, Segment, TimingError};
use kirikae_path::{Span, Time};
use kirikae_sim::{Activity, DirectionOutcome, Flow, Host, Routes, Simulation, Workload, Written};
use kirikae_tcp::Control;

use crate::outcome::Measured;
use crate::scenario::{Contender, Scenario};
use crate::workload::receiver::Arrival;
use crate::workload::schedule;
use crate::workload::sender::Sent;

/// As on the emulated path.
const MTU: u32 = 1500;
/// Time for the handshake before the first burst is due.
const RUN_UP: Span = Span::from_secs(2);
/// How long after the last burst was due a run may still take.
const PATIENCE: Span = Span::from_secs(60);
/// The ports that the records show; a simulated connection has none.
const PORTS: (u16, u16) = (20_000, 5201);

/// The scenario with one contender.
pub(super) fn simulation(
    scenario: &Scenario,
    contender: Contender,
    algorithms: &[Algorithm],
) -> Simulation {
    let due: Vec<Span> = schedule::due_times(&scenario.workload, scenario.seed)
        .into_iter()
        .map(|due| Span::try_from(due).expect("a schedule of less than 584 years"))
        .collect();
    let duration = RUN_UP + due.last().copied().unwrap_or_default() + PATIENCE;
    let mut profile = scenario.stack.clone();
    if contender == Contender::CubicWithoutIdleRestart {
        profile.idle_restart = false;
    }
    let profile = Arc::new(profile);
    let client =
        Host { profile: profile.clone(), control: control(scenario, contender, algorithms) };
    let server = Host { profile, control: control(scenario, Contender::BASELINE, algorithms) };
    let bursts = Workload::bursts(scenario.workload.burst, due);
    Simulation {
        seed: scenario.seed,
        links: vec![scenario.path.clone()],
        flows: vec![Flow {
            start: Time::ZERO,
            routes: Routes::through(&[0]),
            client,
            server,
            mtu: MTU,
            activities: vec![Activity { after: RUN_UP, workload: bursts }],
        }],
        duration,
    }
}

fn control(_scenario: &Scenario, contender: Contender, algorithms: &[Algorithm]) -> Control {
    let name = contender.congestion_control();
    let algorithm = algorithms
        .iter()
        .copied()
        .find(|algorithm| algorithm.name() == name)
        .or_else(|| Algorithm::stock(name))
        .expect("a contender is one of ours or stock");
    Control { algorithm }
}

/// What was measured, in the bench's terms.
pub(super) fn measured(
    scenario: &Scenario,
    contender: Contender,
    outcome: kirikae_sim::Outcome,
) -> Measured {
    let [flow] = &outcome.flows[..] else { unreachable!("one flow was simulated") };
    let algorithm = contender.congestion_control();
    let sent = flow.client.iter().zip(0..).map(|(write, index)| Sent {
        index,
        due_ns: write.start.as_nanos(),
        start_ns: write.start.as_nanos(),
        offset: write.offset,
        bytes: write.bytes,
        algorithm_before: algorithm.into(),
        algorithm_after: algorithm.into(),
    });
    let [forward, backward] = &outcome.links[..] else { unreachable!("one link both ways") };
    let _ = scenario;
    Measured {
        sent: sent.collect(),
        arrivals: flow.client.iter().map_while(arrival).collect(),
        switches: Vec::new(),
        port: PORTS.0,
        report: Report {
            forward: direction(forward),
            backward: direction(backward),
            drops: drops(&outcome.links),
            held: true,
        },
    }
}

fn arrival(write: &Written) -> Option<Arrival> {
    let (first, last) = (write.first?, write.last?);
    Some(Arrival { first_ns: first.as_nanos(), last_ns: last.as_nanos() })
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
