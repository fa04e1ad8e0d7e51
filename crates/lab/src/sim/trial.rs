//! One contender of a scenario as a simulation, and what came of it in the bench's terms.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use kirikae_agent::{Reason, Switch};
use kirikae_algorithms::{Algorithm, Switcher};
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
/// The ports that records and captures show; a simulated connection has none.
pub(super) const PORTS: (u16, u16) = (20_000, 5201);

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

fn control(scenario: &Scenario, contender: Contender, algorithms: &[Algorithm]) -> Control {
    let name = contender.congestion_control();
    let named = |name| algorithms.iter().copied().find(|algorithm| algorithm.name() == name);
    let algorithm = named(name)
        .or_else(|| Algorithm::stock(name))
        .expect("a contender is one of ours or stock");
    let switcher = (contender == Contender::Kirikae).then(|| {
        let table = kirikae_table::shipped().expect("the table that ships is good");
        Switcher::new(table.as_bytes(), scenario.period.fixed_us(), algorithms)
            .expect("the table's algorithms are ours")
    });
    Control { algorithm, switcher }
}

/// What was measured, in the bench's terms.
pub(super) fn measured(contender: Contender, outcome: kirikae_sim::Outcome) -> Measured {
    let [flow] = &outcome.flows[..] else { unreachable!("one flow was simulated") };
    let in_use = |at: Time| {
        let switched = flow.switches.iter().take_while(|(switched, _)| *switched <= at).last();
        switched.map_or(contender.congestion_control(), |(_, switch)| switch.to.name())
    };
    let sent = flow.client.iter().zip(0..).map(|(write, index)| Sent {
        index,
        due_ns: write.start.as_nanos(),
        start_ns: write.start.as_nanos(),
        offset: write.offset,
        bytes: write.bytes,
        algorithm_before: in_use(write.start).into(),
        algorithm_after: in_use(write.start).into(),
    });
    let [forward, backward] = &outcome.links[..] else { unreachable!("one link both ways") };
    Measured {
        sent: sent.collect(),
        arrivals: flow.client.iter().map_while(arrival).collect(),
        switches: flow.switches.iter().map(|(at, switch)| reported(*at, switch)).collect(),
        port: PORTS.0,
        report: Report {
            forward: direction(forward),
            backward: direction(backward),
            drops: drops(&outcome.links),
            held: true,
        },
    }
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
    Switch {
        at_ns: at.as_nanos(),
        local: end(PORTS.0),
        remote: end(PORTS.1),
        from: switch.from.name().into(),
        to: switch.to.name().into(),
        reason: Reason::PredictedLatency,
        rtt_s: f64::from(switch.rtt_us) / 1e6,
        isolated_loss: f64::from(switch.isolated_ppb) / 1e9,
        burst_loss: f64::from(switch.burst_ppb) / 1e9,
        predicted_s,
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
