//! Flows that share links.

mod common;

use common::{bursts, flow, link, lossy, ms};
use kirikae_path::{Direction, PathSpec, Span, Time};
use kirikae_sim::{
    Flow, Hop, Outcome, Routes, Simulation, Workload, dumbbell, parking_lot, staggered,
};

const BULK: Workload = Workload::Bulk { bytes: None };

fn run(links: Vec<PathSpec>, flows: Vec<Flow>, seconds: u64) -> Outcome {
    Simulation { seed: 1, links, flows, duration: Span::from_secs(seconds) }.run().unwrap()
}

/// Megabits per second that the flow's data took of a link, from what entered it and was not lost.
fn megabits(outcome: &Outcome, link: usize, seconds: u64) -> f64 {
    let hop = Hop { link, direction: Direction::Forward };
    let way = outcome.links.iter().find(|way| way.hop == hop).unwrap();
    (way.delivered * 1500 * 8) as f64 / 1e6 / seconds as f64
}

#[test]
fn two_flows_share_a_dumbbell() {
    // Access links are ten times as fast: the shared 20 Mb/s are what limits.
    let (links, routes) = dumbbell(link(20, 67, 20), vec![link(200, 1000, 20); 2]);
    let starts = staggered(2, ms(500), 1);
    let flows = routes.into_iter().zip(starts);
    let flows = flows.map(|(routes, start)| Flow { start, ..flow(routes, BULK) }).collect();
    let outcome = run(links, flows, 120);
    let (all, first) = (megabits(&outcome, 0, 120), megabits(&outcome, 1, 120));
    assert!((18.5..20.1).contains(&all), "{all} Mb/s in all");
    // Same round trip, same algorithm: neither starves. (Half each only over a long time.)
    assert!((0.3..0.7).contains(&(first / all)), "{first} of {all} Mb/s");
}

#[test]
fn a_parking_lot_gives_the_long_way_less() {
    let (long, short) = parking_lot(3);
    let links = vec![link(10, 50, 20); 3];
    let flows: Vec<Flow> =
        [long].into_iter().chain(short).map(|routes| flow(routes, BULK)).collect();
    let outcome = run(links, flows, 60);
    // Three queues on the long way and three times the round trip.
    let long = outcome.flows.len();
    assert_eq!(long, 4);
    for link in 0..3 {
        let all = megabits(&outcome, link, 60);
        assert!((9.0..10.1).contains(&all), "{all} Mb/s on link {link}");
    }
    let lost = outcome.links.iter().map(|way| way.drops.len()).sum::<usize>();
    let by_long = outcome.links.iter().flat_map(|way| &way.drops).filter(|drop| drop.flow == 0);
    assert!(by_long.count() < lost / 2, "{lost} lost");
}

#[test]
fn each_direction_of_a_link_has_its_own_elements_and_drops() {
    // Acknowledgements are lost, data is not; and a flow the other way meets it the other way round.
    let forward = link(10, 100, 40);
    let noisy = PathSpec {
        forward: forward.backward.clone(),
        backward: lossy(0.2, forward.clone()).forward,
    };
    let turned = Routes {
        forward: [Hop { link: 0, direction: Direction::Backward }].into(),
        backward: [Hop { link: 0, direction: Direction::Forward }].into(),
        snoop: None,
    };
    let flows = vec![flow(Routes::through(&[0]), bursts(10)), flow(turned, bursts(10))];
    let outcome = run(vec![noisy], flows, 300);
    assert_eq!(outcome.left, []);
    assert_eq!(outcome.links[0].drops, []);
    let drops = &outcome.links[1].drops;
    let data = drops.iter().filter(|drop| !drop.stream.is_empty());
    assert!(data.clone().count() > 0 && data.clone().all(|drop| drop.flow == 1));
    assert!(drops.iter().any(|drop| drop.flow == 0 && drop.stream.is_empty()));
}

#[test]
fn a_thousand_flows_start_at_their_times() {
    let starts = staggered(1000, Span::from_secs(5), 7);
    let flow = flow(Routes::through(&[0]), Workload::Bulk { bytes: Some(10_000) });
    let flows = starts.iter().map(|&start| Flow { start, ..flow.clone() }).collect();
    let outcome = run(vec![link(1000, 10_000, 50)], flows, 60);
    assert_eq!(outcome.left, []);
    for (flow, start) in outcome.flows.iter().zip(starts) {
        assert_eq!(flow.client[0].start, start);
        // Handshake and half a round trip, and a little waiting.
        let latency = flow.client[0].latency().unwrap();
        assert!((ms(75)..ms(80)).contains(&latency), "{latency}");
    }
    assert!(outcome.end > Time::ZERO + Span::from_secs(4));
}
