//! Split TCP: a relay between two links.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{MS, answer, bursts, flow, link, lossy, ms, times};
use kirikae_algorithms::{Algorithm, Rule, Switcher};
use kirikae_interface::{SCOPE_FIRST_FLIGHT, policy, scope};
use kirikae_path::{Direction, ElementSpec, Hop, PathSpec, Span, Time};
use kirikae_sim::{
    End, Flow, Host, Observer, Outcome, Passage, Routes, Simulation, SimulationError, Split, Step,
    Workload, Write,
};
use kirikae_tcp::{Control, Profile};

const WIRE: usize = 0;
const AIR: usize = 1;

fn host(profile: Profile) -> Host {
    let algorithm = Algorithm::stock("cubic").unwrap();
    let control = Arc::new(Control { algorithm, switcher: None });
    Host { profile: Arc::new(profile), control, address: 9 }
}

fn wire() -> PathSpec {
    let delay = || vec![ElementSpec::Delay { delay: ms(50) }];
    PathSpec { forward: delay(), backward: delay() }
}

/// A wire and then the air, which loses this share, with a relay between them or without.
fn simulation(loss: f64, split: bool, workload: Workload) -> Simulation {
    let split = split.then(|| Split { link: AIR, host: host(Profile::linux_6()) });
    let flow = Flow { split, ..flow(Routes::through(&[WIRE, AIR]), workload) };
    let links = vec![wire(), lossy(loss, link(10, 100, 20))];
    Simulation { seed: 1, links, flows: vec![flow], duration: Span::from_secs(4000) }
}

fn run(simulation: &Simulation) -> Outcome {
    let outcome = simulation.run().unwrap();
    assert_eq!(outcome.left, [], "everything arrives");
    outcome
}

fn retransmissions(outcome: &Outcome) -> u64 {
    outcome.flows[0].traffic[0].retransmissions
}

fn lost(outcome: &Outcome, link: usize) -> u64 {
    outcome.links[2 * link].dropped.values().sum()
}

/// Watches the client's data on both sides of the relay.
#[derive(Default)]
struct RelayWatch {
    /// Where the data ends that is there in order.
    in_order: u64,
    /// What is there beyond that, from and to.
    beyond: BTreeSet<(u64, u64)>,
    /// Where the data ends that the relay has sent.
    sent: u64,
    /// Segments that the relay has sent again.
    again: u64,
    /// Data that is ACKed by the server.
    acked: u64,
    /// The least window that the relay has told the client, and the most data that it has held.
    window: Option<u32>,
    held: u64,
}

impl Observer for RelayWatch {
    fn packet(&mut self, passage: Passage<'_>) {
        let Passage { hop: Hop { link, direction }, step, segment, .. } = passage;
        match (link, direction, step) {
            (WIRE, Direction::Forward, Step::Leaves) if segment.len > 0 => {
                self.in_order = self.in_order.max(1);
                self.beyond.insert((segment.seq, segment.end()));
                while let Some(next) = self.beyond.pop_first() {
                    if next.0 > self.in_order {
                        self.beyond.insert(next);
                        break;
                    }
                    self.in_order = self.in_order.max(next.1);
                }
            }
            (AIR, Direction::Forward, Step::Enters) if segment.len > 0 => {
                let end = segment.end();
                assert!(end <= self.in_order, "{end} handed on, {} there", self.in_order);
                assert!(segment.seq <= self.sent.max(1), "a gap after {}", self.sent);
                self.again += u64::from(end <= self.sent);
                self.sent = self.sent.max(end);
            }
            (AIR, Direction::Backward, Step::Leaves) => self.acked = self.acked.max(segment.ack),
            (WIRE, Direction::Backward, Step::Enters) => {
                assert!(segment.ack <= self.in_order.max(1), "ACKed before it is there");
                self.window = Some(self.window.unwrap_or(u32::MAX).min(segment.window));
                self.held = self.held.max(self.in_order.saturating_sub(self.acked.max(1)));
            }
            _ => {}
        }
    }
}

#[test]
fn a_leg_is_opened_after_the_other() {
    // The relay has the write and the end of the handshake after 1.5 round trips of 100 ms. Then come 1.5 of 20 ms.
    let write = Write { at: Span::ZERO, bytes: 100 };
    let outcome = run(&simulation(0.0, true, Workload::Writes([write].into())));
    let latency_ms = outcome.flows[0].client[0].latency().unwrap().as_secs_f64() * 1e3;
    assert!((latency_ms - 180.0).abs() < 0.5, "{latency_ms} ms");
}

#[test]
fn what_is_handed_on_is_there_and_in_order() {
    for seed in 0..20 {
        let mut simulation = simulation(0.1, true, bursts(10));
        simulation.seed = seed;
        let loss = |probability| ElementSpec::Loss { probability };
        simulation.links[WIRE].forward.insert(0, loss(0.05));
        simulation.links[WIRE].backward.insert(0, loss(0.1));
        simulation.links[AIR].backward.insert(0, loss(0.1));
        let mut watch = RelayWatch::default();
        let outcome = simulation.observe(&mut watch).unwrap();
        assert_eq!(outcome.left, [], "seed {seed}");
        assert!(
            lost(&outcome, WIRE) > 0 && watch.again > 0,
            "seed {seed}: nothing to put in order"
        );
        assert_eq!(watch.sent, 1 + outcome.flows[0].traffic[0].arrived, "seed {seed}");
    }
}

#[test]
fn the_sender_does_not_hear_of_what_the_second_leg_loses() {
    let (with, without) =
        (run(&simulation(0.03, true, bursts(100))), run(&simulation(0.03, false, bursts(100))));
    assert!(lost(&with, AIR) > 90 && lost(&without, AIR) > 90);
    assert!(retransmissions(&without) >= lost(&without, AIR));
    assert_eq!(retransmissions(&with), 0);
}

#[test]
fn the_receiver_does_not_hear_of_what_the_first_leg_loses() {
    let mut simulation = simulation(0.0, true, bursts(100));
    simulation.links[WIRE].forward.insert(0, ElementSpec::Loss { probability: 0.03 });
    let mut watch = RelayWatch::default();
    let outcome = simulation.observe(&mut watch).unwrap();
    assert_eq!(outcome.left, []);
    assert!(lost(&outcome, WIRE) > 90 && retransmissions(&outcome) >= lost(&outcome, WIRE));
    assert_eq!(watch.again, 0);
}

/// 10 Mbit/s to the relay and 1 Mbit/s from there; the relay has buffers of this many bytes.
fn narrowing(buffer: u32) -> Simulation {
    let profile = Profile {
        receive_buffer: buffer,
        receive_window_max: buffer,
        send_buffer_max: buffer,
        ..Profile::linux_6()
    };
    let split = Some(Split { link: AIR, host: host(profile) });
    let bulk = Workload::Bulk { bytes: Some(5_000_000) };
    let flows = vec![Flow { split, ..flow(Routes::through(&[WIRE, AIR]), bulk) }];
    let links = vec![link(10, 1000, 40), link(1, 1000, 20)];
    Simulation { seed: 1, links, flows, duration: Span::from_secs(100) }
}

#[test]
fn a_full_buffer_closes_the_window_of_the_first_leg() {
    let mut watch = RelayWatch::default();
    let outcome = narrowing(200_000).observe(&mut watch).unwrap();
    assert_eq!(outcome.left, []);
    assert_eq!(watch.window, Some(0));
    // The receive buffer, the piece between, and the send buffer: twelve thirteenths of it are data, and the last
    // segments of a train, 22 at most, may exceed it.
    let most = 200_000 + 16_384 + 200_000 * 12 / 13 + 22 * 1448;
    assert!((most - 2_000..=most).contains(&watch.held), "{} of {most} bytes held", watch.held);
    assert_eq!((lost(&outcome, WIRE), retransmissions(&outcome)), (0, 0), "it waits, no more");
    // 5 MB in segments of 1500 for 1448 at 1 Mbit/s are 41.4 s, and the wait for a window never leaves the link idle.
    let latency_s = outcome.flows[0].client[0].latency().unwrap().as_secs_f64();
    assert!((latency_s - 41.5).abs() < 0.5, "{latency_s} s");
}

#[test]
fn buffers_that_do_not_fill_close_no_window() {
    let mut watch = RelayWatch::default();
    let mut simulation = narrowing(6_000_000);
    simulation.links[AIR] = link(20, 1000, 20);
    assert_eq!(simulation.observe(&mut watch).unwrap().left, []);
    assert!(watch.window > Some(10_000), "{:?}", watch.window);
    assert!(watch.held < 200_000, "{} bytes held", watch.held);
}

/// Four answers of a server over links of 100 and 100 ms, through a relay that remembers paths: their latencies, ms.
fn answers_through(relay: Host) -> Vec<f64> {
    let through = |number: u64| {
        let answer = answer(60_000, 4_000 * number, None);
        let hop = |link, direction| Hop { link, direction };
        // It is the server whose data goes forward, and over the wire first.
        let backward = [hop(WIRE, Direction::Forward), hop(AIR, Direction::Forward)].into();
        let forward = [hop(AIR, Direction::Backward), hop(WIRE, Direction::Backward)].into();
        let routes = Routes { forward, backward, ..answer.routes };
        Flow { routes, split: Some(Split { link: AIR, host: relay.clone() }), ..answer }
    };
    let links = vec![link(10, 100, 10), link(10, 100, 200)];
    let flows = (0..4).map(through).collect();
    let simulation = Simulation { seed: 1, links, flows, duration: ms(60_000) };
    times(&run(&simulation)).iter().map(|(from, to)| to - from).collect()
}

#[test]
fn a_leg_is_closed_with_the_other() {
    // What a switcher knows of a path it remembers when the connection is closed: so a relay whose leg is never closed
    // would answer as slowly for ever.
    let candidates: Vec<Algorithm> = Algorithm::all().collect();
    let tables = vec![kirikae_table::usual().kernel_table().into()];
    let scope = scope { flags: SCOPE_FIRST_FLIGHT, path_lifetime_s: 600, ..scope::usual() };
    let switcher = Switcher::new(policy::one(scope), tables, &candidates).unwrap();
    let stock = host(Profile::linux_6());
    let control =
        Control { switcher: Some(Rule::Switcher(switcher)), ..Control::clone(&stock.control) };
    let warm = answers_through(Host { control: control.into(), ..stock.clone() });
    let cold = answers_through(stock);
    assert!((cold[3] - cold[0]).abs() < 1.0, "{cold:?}");
    assert!(warm[3] < 0.8 * warm[0], "{warm:?}");
}

#[test]
fn it_is_the_same_each_time() {
    let simulation = simulation(0.03, true, bursts(20));
    assert_eq!(simulation.run().unwrap(), simulation.run().unwrap());
}

#[test]
fn both_ends_write_through_it() {
    let requests = Workload::Requests {
        request: 3_000,
        response: 100_000,
        think: kirikae_sim::Interval::Fixed(ms(10)),
        count: 20,
    };
    let mut simulation = simulation(0.02, true, requests);
    simulation.links[AIR].backward.insert(0, ElementSpec::Loss { probability: 0.02 });
    let outcome = run(&simulation);
    let written = [&outcome.flows[0].client, &outcome.flows[0].server];
    assert_eq!(written.map(Vec::len), [20, 20]);
    assert_eq!(outcome.flows[0].traffic.map(|traffic| traffic.arrived), [60_000, 2_000_000]);
}

#[test]
fn it_has_to_stand_between_two_links() {
    let refused = |change: fn(&mut Simulation)| {
        let mut simulation = simulation(0.0, true, bursts(1));
        change(&mut simulation);
        simulation.run().unwrap_err()
    };
    let before = |link| SimulationError::Split { flow: 0, link };
    fn place(simulation: &mut Simulation, link: usize) {
        simulation.flows[0].split.as_mut().unwrap().link = link;
    }
    assert_eq!(refused(|it| place(it, 2)), before(2));
    assert_eq!(refused(|it| place(it, WIRE)), before(WIRE), "where the client is");
    let past = |it: &mut Simulation| {
        it.flows[0].routes.backward = [Hop { link: WIRE, direction: Direction::Backward }].into();
    };
    assert_eq!(refused(past), before(AIR), "past it on the way back");
    assert_eq!(
        refused(|it| it.flows[0].routes.snoop = Some(AIR)),
        SimulationError::SplitAndSnoop { flow: 0 }
    );
    let at_once = |it: &mut Simulation| it.links[WIRE] = PathSpec::default();
    assert_eq!(refused(at_once), SimulationError::NoTime { flow: 0 });
}

#[test]
fn ends_are_told_of_as_ever() {
    /// When an end has dealt with something.
    #[derive(Default)]
    struct Told([Option<Time>; 2]);
    impl Observer for Told {
        fn received(&mut self, now: Time, _: usize, end: End, _: &kirikae_tcp::Endpoint) {
            self.0[end as usize].get_or_insert(now);
        }
    }
    let mut told = Told::default();
    simulation(0.0, true, bursts(1)).observe(&mut told).unwrap();
    // The client hears the relay after a round trip of the wire; the server the relay's SYN.
    let at_ms = told.0.map(|at| at.unwrap().as_nanos() / MS);
    assert_eq!(at_ms, [100, 160]);
}
