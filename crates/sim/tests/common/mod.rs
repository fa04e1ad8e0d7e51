//! What the tests simulate.
#![allow(dead_code, reason = "each test uses some of it")]

use std::sync::Arc;

use kirikae_algorithms::Algorithm;
use kirikae_path::{Direction, ElementSpec, Hop, PathSpec, QueueLimit, Span, Time};
use kirikae_sim::{Activity, Flow, FlowOutcome, Host, Outcome, Routes, Simulation, Workload};
use kirikae_tcp::{Control, Profile};

pub const MS: u64 = 1_000_000;

pub fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Rate and queue forward, half the round trip either way.
pub fn link(megabits: u64, queue: u64, rtt_ms: u64) -> PathSpec {
    let delay = ElementSpec::Delay { delay: ms(rtt_ms / 2) };
    let bits_per_second = megabits * 1_000_000;
    let rate = ElementSpec::Rate { bits_per_second, limit: QueueLimit::Packets(queue) };
    PathSpec { forward: vec![rate, delay.clone()], backward: vec![delay] }
}

/// The same, with this probability of loss first.
pub fn lossy(probability: f64, mut path: PathSpec) -> PathSpec {
    path.forward.insert(0, ElementSpec::Loss { probability });
    path
}

/// A flow of the kernel's cubic from the simulation's start.
pub fn flow(routes: Routes, workload: Workload) -> Flow {
    let algorithm = Algorithm::stock("cubic").expect("the kernel has it");
    let host = Host {
        profile: Arc::new(Profile::linux_6()),
        control: Arc::new(Control { algorithm, switcher: None }),
        address: 0,
    };
    Flow {
        start: Time::ZERO,
        after: None,
        routes,
        client: host.clone(),
        server: host,
        activities: vec![Activity { after: Span::ZERO, workload }],
        mobile: None,
        split: None,
    }
}

/// One flow over one link.
pub fn one(path: PathSpec, workload: Workload, seconds: u64) -> Simulation {
    let flows = vec![flow(Routes::through(&[0]), workload)];
    Simulation { seed: 1, links: vec![path], flows, duration: Span::from_secs(seconds) }
}

pub fn bursts(count: u64) -> Workload {
    Workload::bursts(65_536, (0..count).map(|burst| Span::from_secs(2) * burst))
}

/// RTT of [`answers`].
const RTT_MS: u64 = 200;

/// Answers over 10 Mbit/s from the server to the client.
pub fn answers(flows: Vec<Flow>) -> Simulation {
    Simulation { seed: 1, links: vec![link(10, 100, RTT_MS)], flows, duration: ms(60_000) }
}

/// An answer of so many bytes, asked for at `start` and not before the flow `after` is done.
pub fn answer(bytes: u64, start: u64, after: Option<usize>) -> Flow {
    let hop = |direction| Arc::from([Hop { link: 0, direction }]);
    let (forward, backward) = (hop(Direction::Backward), hop(Direction::Forward));
    let routes = Routes { forward, backward, snoop: None };
    Flow { start: Time::ZERO + ms(start), after, ..flow(routes, Workload::Answer { bytes }) }
}

/// When each answer was asked for and when it had arrived, in milliseconds.
pub fn times(outcome: &Outcome) -> Vec<(f64, f64)> {
    let millis = |time: Time| (time - Time::ZERO).as_secs_f64() * 1e3;
    let of = |flow: &FlowOutcome| {
        let ([], [answer]) = (&flow.client[..], &flow.server[..]) else { panic!("one answer") };
        (millis(answer.start), millis(answer.last.expect("it arrived")))
    };
    outcome.flows.iter().map(of).collect()
}
