//! A Snoop agent before a link that loses packets.

mod common;

use common::{bursts, flow, link, lossy, ms};
use kirikae_path::{ElementSpec, PathSpec, Span};
use kirikae_sim::{Outcome, Routes, Simulation, SimulationError, Workload};

/// A wire and then the air, which loses this share, with an agent between them or without.
fn simulation(loss: f64, snoop: bool, workload: Workload) -> Simulation {
    let delay = || vec![ElementSpec::Delay { delay: ms(50) }];
    let wire = PathSpec { forward: delay(), backward: delay() };
    let mut routes = Routes::through(&[0, 1]);
    routes.snoop = snoop.then_some(1);
    let links = vec![wire, lossy(loss, link(10, 100, 20))];
    let duration = Span::from_secs(4000);
    Simulation { seed: 1, links, flows: vec![flow(routes, workload)], duration }
}

fn run(loss: f64, snoop: bool) -> Outcome {
    let outcome = simulation(loss, snoop, bursts(100)).run().unwrap();
    assert_eq!(outcome.left, [], "everything arrives");
    outcome
}

fn retransmissions(outcome: &Outcome) -> u64 {
    outcome.flows[0].traffic[0].retransmissions
}

fn lost(outcome: &Outcome) -> u64 {
    outcome.links[2].dropped.values().sum()
}

#[test]
fn it_changes_nothing_where_nothing_is_lost() {
    let (with, without) = (run(0.0, true), run(0.0, false));
    assert_eq!(with.flows, without.flows);
    assert_eq!(with.links[2].offered, without.links[2].offered, "and sends nothing twice");
}

#[test]
fn what_the_air_loses_is_repaired_before_the_sender_hears_of_it() {
    let (with, without) = (run(0.03, true), run(0.03, false));
    assert!(lost(&with) > 90 && lost(&without) > 90);
    assert!(retransmissions(&without) >= lost(&without));
    assert!(retransmissions(&with) * 20 < lost(&with), "{} sent again", retransmissions(&with));
    // The agent sends hardly anything that was there already.
    let (offered, lost) = (with.links[2].offered, lost(&with));
    let needed = with.flows[0].traffic[0].segments + lost;
    assert!(offered < needed + needed / 50, "{offered} entered, {needed} would do");
}

#[test]
fn what_the_wire_loses_is_the_senders_affair() {
    let mut simulation = simulation(0.0, true, bursts(100));
    simulation.links[0].forward.insert(0, ElementSpec::Loss { probability: 0.03 });
    let outcome = simulation.run().unwrap();
    assert_eq!(outcome.left, []);
    let lost: u64 = outcome.links[0].dropped.values().sum();
    assert!(lost > 90 && retransmissions(&outcome) >= lost);
}

#[test]
fn losses_of_both_and_of_acks_are_survived() {
    for seed in 0..20 {
        let mut simulation = simulation(0.2, true, bursts(10));
        simulation.seed = seed;
        let loss = |probability| ElementSpec::Loss { probability };
        simulation.links[0].forward.insert(0, loss(0.05));
        simulation.links[0].backward.insert(0, loss(0.1));
        simulation.links[1].backward.insert(0, loss(0.1));
        assert_eq!(simulation.run().unwrap().left, [], "seed {seed}");
    }
}

#[test]
fn it_has_to_stand_on_the_way() {
    let mut simulation = simulation(0.0, true, bursts(1));
    simulation.flows[0].routes.snoop = Some(2);
    assert_eq!(simulation.run().unwrap_err(), SimulationError::Snoop { flow: 0, link: 2 });
}
