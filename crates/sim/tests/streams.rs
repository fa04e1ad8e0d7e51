//! Streams: what is written again before all of the last write has arrived, and what is none.

mod common;

use std::sync::Arc;

use common::{flow, link};
use kirikae_algorithms::{Algorithm, Rule, Switcher};
use kirikae_interface::{policy, scope};
use kirikae_path::{PathSpec, Span};
use kirikae_sim::{Host, Routes, Simulation, Workload};
use kirikae_table::{Condition, Expectation, Grid, LatencyTable, Load};
use kirikae_tcp::{Control, Profile};

/// By which kk_scalable is best for bursts, kk_reno for bulk, kk_bbr3 for streams.
fn table() -> LatencyTable {
    let grid = Grid {
        rtts_us: vec![100_000],
        rates: vec![10_000_000],
        bursts: vec![65_536, 2 << 20],
        streams: vec![0.1, 0.8],
        conditions: vec![Condition { loss: 1e-5, burst_loss: 0.0, queue: 100 }],
    };
    let expectations = grid.places().flat_map(|place| {
        let best = match place.load {
            Load::Burst(65_536) => 0,
            Load::Burst(_) => 1,
            Load::Stream(_) => 2,
        };
        (0..3).map(move |column| Expectation {
            latency_s: if column == best { 0.1 } else { 0.4 },
            isolated: 1e-5,
            bursts: 0.0,
        })
    });
    LatencyTable {
        origin: Vec::new(),
        expectations: expectations.collect(),
        grid,
        algorithms: ["kk_scalable", "kk_reno", "kk_bbr3"].map(String::from).into(),
    }
}

/// The algorithm at the end of 30 s over 10 Mbit/s, RTT 100 ms.
fn chosen(path: PathSpec, workload: Workload) -> &'static str {
    let candidates: Vec<Algorithm> = Algorithm::all().collect();
    let tables = vec![table().kernel_table().into()];
    let switcher = Switcher::new(policy::one(scope::usual()), tables, &candidates).unwrap();
    let algorithm = Algorithm::stock("cubic").unwrap();
    let control = Control { algorithm, switcher: Some(Rule::Switcher(switcher)) };
    let host = Host { profile: Arc::new(Profile::linux_6()), control: Arc::new(control) };
    let mut flow = flow(Routes::through(&[0]), workload);
    (flow.client, flow.server) = (host.clone(), host);
    let (links, flows) = (vec![path], vec![flow]);
    let simulation = Simulation { seed: 1, links, flows, duration: Span::from_secs(30) };
    let outcome = simulation.run().unwrap();
    outcome.flows[0].switches.last().expect("a switch").1.to.name()
}

fn every(ms: u64, bytes: u64) -> Workload {
    Workload::bursts(bytes, (1..30_000 / ms).map(|n| Span::from_millis(n * ms)))
}

fn path() -> PathSpec {
    link(10, 100, 100)
}

#[test]
fn frames_in_less_than_a_round_trip_are_a_stream() {
    assert_eq!(chosen(path(), every(33, 10_000)), "kk_bbr3");
    assert_eq!(chosen(path(), every(10, 500)), "kk_bbr3");
}

#[test]
fn what_idle_time_separates_are_bursts() {
    assert_eq!(chosen(path(), every(2000, 65_536)), "kk_scalable");
    assert_eq!(chosen(path(), every(500, 20_000)), "kk_scalable");
}

/// Whether or not the end of it is ever written.
#[test]
fn what_always_has_more_to_send_is_bulk() {
    assert_eq!(chosen(path(), Workload::Bulk { bytes: None }), "kk_reno");
    assert_eq!(chosen(path(), Workload::Bulk { bytes: Some(200 << 20) }), "kk_reno");
    // Frames of which the path carries half.
    assert_eq!(chosen(path(), every(33, 83_000)), "kk_reno");
}
