//! What came of a simulation, in the terms that it shares with the bench.

use std::borrow::Cow;
use std::net::{Ipv4Addr, SocketAddr};

use kirikae_path::Time;
use kirikae_results::contest::Contest;
use kirikae_results::play::{Course, FlowCourse};
use kirikae_scenario::{Contender, FlowGroup};
use kirikae_sim::{DirectionOutcome, End, FlowOutcome, Written};
use kirikae_vocabulary::{
    DirectionReport, DroppedPacket, KnownPath, Reason, Report, Segment, Switch, TimingError,
};

use super::Interval;
use super::simulation::PORTS;

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
    let flow = |((place, flow), (group, _)): ((usize, FlowOutcome), (&FlowGroup, u32))| {
        let sender = group.sender();
        let ports = match sender {
            End::Client => PORTS,
            End::Server => (PORTS.1, client_port(place)),
        };
        let switches = flow.switches.iter().map(|(at, switch)| reported(*at, ports, switch));
        FlowCourse {
            algorithms: if timed { algorithms(contender, &flow, sender) } else { Vec::new() },
            traffic: flow.traffic,
            left: left.next_if(|left| left.flow == place),
            measured: interval.map(|interval| interval.arrived(place)),
            switches: switches.collect(),
            written: [flow.client, flow.server],
            port: client_port(place),
        }
    };
    let flows = (0..).zip(outcome.flows).zip(scenario.connections()).map(flow);
    Course { begin_ns: 0, end: outcome.end, flows: flows.collect(), links, is_real: false }
}

/// The port that a flow's client would have; of few flows each has its own.
fn client_port(flow: usize) -> u16 {
    PORTS.0.wrapping_add(flow as u16)
}

/// What was in use at each of the writes of the one that sends, which take no time.
fn algorithms(
    contender: Contender,
    flow: &FlowOutcome,
    sender: End,
) -> Vec<[Cow<'static, str>; 2]> {
    let in_use = |write: &Written| {
        let before = flow.switches.iter().take_while(|(switched, _)| *switched <= write.start);
        let last = before.last().map(|(_, switch)| switch.to.name());
        let name = last.unwrap_or(contender.congestion_control());
        [name.into(), name.into()]
    };
    let written = match sender {
        End::Client => &flow.client,
        End::Server => &flow.server,
    };
    written.iter().map(in_use).collect()
}

/// A switch as the agent reports one, at the first of these ports.
fn reported(at: Time, (local, remote): (u16, u16), switch: &kirikae_algorithms::Switch) -> Switch {
    let end = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let mut predicted_s: Vec<(String, f64)> = switch
        .predicted_us
        .iter()
        .map(|(name, us)| (String::from(*name), f64::from(*us) / 1e6))
        .collect();
    predicted_s.sort_by(|a, b| a.1.total_cmp(&b.1));
    let reason = match &switch.start {
        Some(_) => Reason::WarmStart,
        None if switch.is_outage => Reason::Outage,
        None if predicted_s.is_empty() => Reason::RetransmitRate,
        None => Reason::PredictedLatency,
    };
    Switch {
        at_ns: at.as_nanos(),
        local: end(local),
        remote: end(remote),
        namespace: 0,
        from: switch.from.name().into(),
        to: switch.to.name().into(),
        reason,
        observed: switch.observed,
        rtt_s: f64::from(switch.rtt_us) / 1e6,
        rate_bit_s: kirikae_interface::rate_bit_s(switch.rate),
        burst_bytes: (switch.burst > 0).then_some(switch.burst),
        stream_share: kirikae_interface::stream_share(switch.share),
        isolated_loss: f64::from(switch.isolated_ppb) / 1e9,
        burst_loss: f64::from(switch.burst_ppb) / 1e9,
        predicted_s,
        known: switch.start.as_ref().map(KnownPath::from),
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
                let (client, server) = (client_port(drop.flow), PORTS.1);
                let (source_port, destination_port) = match drop.from {
                    End::Client => (client, server),
                    End::Server => (server, client),
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
