//! Streams: what is written again before all of the last write has arrived, and what is none.

mod common;

use std::sync::Arc;

use common::{flow, link};
use kirikae_algorithms::{Algorithm, Rule, Switcher};
use kirikae_interface::{policy, scope};
use kirikae_path::{ElementSpec, PathSpec, Span, Time};
use kirikae_sim::{End, Host, Observer, Routes, Simulation, Workload};
use kirikae_table::{Condition, Expectation, Grid, LatencyTable, Load};
use kirikae_tcp::{Control, Endpoint, Profile};

const BURSTS: usize = 0;
const BULK: usize = 1;
const STREAMS: usize = 2;
const COLUMNS: [&str; 3] = ["kk_scalable", "kk_reno", "kk_bbr3"];

/// By which kk_scalable is best for bursts, kk_reno for bulk, and for streams the one of that column, and
/// next to it kk_bbr3; by far.
fn table(streams: usize) -> LatencyTable {
    table_of(streams, [0.1, 0.5, 0.6])
}

/// The same, by less than what is taken at once.
fn close_table(streams: usize) -> LatencyTable {
    table_of(streams, [0.2, 0.24, 0.25])
}

/// What the best, kk_bbr3 and the others are said to take, seconds.
fn table_of(streams: usize, [least_s, stream_s, other_s]: [f64; 3]) -> LatencyTable {
    let grid = Grid {
        rtts_us: vec![100_000],
        rates: vec![10_000_000],
        bursts: vec![65_536, 2 << 20],
        streams: vec![0.1, 0.8],
        conditions: vec![Condition { loss: 1e-5, burst_loss: 0.0, queue: 100 }],
    };
    let expectations = grid.places().flat_map(|place| {
        let best = match place.load {
            Load::Burst(65_536) => BURSTS,
            Load::Burst(_) => BULK,
            Load::Stream(_) => streams,
        };
        (0..3).map(move |column| Expectation {
            latency_s: match column {
                _ if column == best => least_s,
                STREAMS => stream_s,
                _ => other_s,
            },
            isolated: 1e-5,
            bursts: 0.0,
        })
    });
    LatencyTable {
        origin: Vec::new(),
        expectations: expectations.collect(),
        grid,
        algorithms: COLUMNS.map(String::from).into(),
        barred_in_bulk: Vec::new(),
    }
}

/// The algorithm at the end of 30 s.
fn chosen(path: PathSpec, workload: Workload) -> &'static str {
    switched_to(&table(STREAMS), path, workload).pop().expect("a switch")
}

/// What the connection is given in 30 s, one after the other.
fn switched_to(table: &LatencyTable, path: PathSpec, workload: Workload) -> Vec<&'static str> {
    observe(table, path, workload, &mut ())
}

/// Demands in bytes per second that the client was known by as a stream, after each ACK.
struct Demands(Vec<u32>);

impl Observer for Demands {
    fn received(&mut self, _now: Time, _flow: usize, end: End, endpoint: &Endpoint) {
        let connection = endpoint.socket().and_then(|socket| socket.connection.as_ref());
        let stream = connection.filter(|_| end == End::Client).map(|connection| &connection.stream);
        self.0.extend(stream.filter(|stream| stream.again >= 2).map(|stream| stream.demand));
    }
}

/// The latest of them.
fn demand(path: PathSpec, workload: Workload) -> u32 {
    let mut demands = Demands(Vec::new());
    observe(&table(STREAMS), path, workload, &mut demands);
    *demands.0.last().expect("it is no stream")
}

fn observe<O: Observer>(
    table: &LatencyTable,
    path: PathSpec,
    workload: Workload,
    observer: &mut O,
) -> Vec<&'static str> {
    let candidates: Vec<Algorithm> = Algorithm::all().collect();
    let tables = vec![table.kernel_table().into()];
    let switcher = Switcher::new(policy::one(scope::usual()), tables, &candidates).unwrap();
    let algorithm = Algorithm::stock("cubic").unwrap();
    let control = Control { algorithm, switcher: Some(Rule::Switcher(switcher)) };
    let host =
        Host { profile: Arc::new(Profile::linux_6()), control: Arc::new(control), address: 0 };
    let mut flow = flow(Routes::through(&[0]), workload);
    (flow.client, flow.server) = (host.clone(), host);
    let (links, flows) = (vec![path], vec![flow]);
    let simulation = Simulation { seed: 1, links, flows, duration: Span::from_secs(30) };
    let outcome = simulation.observe(observer).unwrap();
    outcome.flows[0].switches.iter().map(|(_, switch)| switch.to.name()).collect()
}

fn every(ms: u64, bytes: u64) -> Workload {
    Workload::bursts(bytes, (1..30_000 / ms).map(|n| Span::from_millis(n * ms)))
}

/// 10 Mbit/s, RTT 100 ms.
fn path() -> PathSpec {
    link(10, 100, 100)
}

/// That loses packets where there is no queue.
fn lossy(probability: f64) -> PathSpec {
    let mut path = path();
    path.forward.insert(0, ElementSpec::Loss { probability });
    path
}

/// What carries a stream is measured before it is left, and takes no longer than kk_bbr3 promises. Before it is known as
/// a stream it may be given what a file would get.
#[test]
fn frames_in_less_than_a_round_trip_are_a_stream() {
    let switches = |workload| switched_to(&close_table(STREAMS), path(), workload);
    for workload in [every(33, 10_000), every(10, 500)] {
        let switches = switches(workload);
        assert!(switches.len() <= 1 && !switches.contains(&"kk_bbr3"), "{switches:?}");
    }
    assert_eq!(chosen(lossy(0.02), every(33, 10_000)), "kk_bbr3");
}

#[test]
fn a_stream_is_known_by_what_it_asks_for() {
    for (ms, bytes) in [(33, 10_000), (10, 500)] {
        let (found, asked) = (demand(path(), every(ms, bytes)), (bytes * 1000 / ms) as u32);
        assert!(found.abs_diff(asked) <= asked / 10, "{found} for {asked} bytes per second");
    }
}

/// Each is more than 512 KiB, and may also be a burst.
#[test]
fn large_writes_without_idle_time_are_a_stream() {
    assert_eq!(chosen(link(40, 1000, 100), every(200, 600_000)), "kk_bbr3");
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

/// Larger writes than fit into the send buffer, of which kk_reno carries too little.
#[test]
fn what_was_behind_from_the_beginning_is_probed() {
    assert_eq!(chosen(lossy(0.03), every(200, 120_000)), "kk_bbr3");
}

/// It stays bulk where there is room for more, and nothing is lost.
#[test]
fn bulk_is_not_probed_without_losses() {
    assert_eq!(chosen(link(100, 100, 2000), Workload::Bulk { bytes: None }), "kk_reno");
}

#[test]
fn where_the_table_is_wrong_another_is_tried() {
    let switches = |table, path| switched_to(&table, path, every(33, 10_000));
    let kept = switches(close_table(BULK), path());
    assert!(kept.len() <= 1, "to and fro: {kept:?}");
    let tried = switches(table(BULK), lossy(0.02));
    assert!(tried.contains(&"kk_bbr3"));
    assert!(tried.len() < 6, "to and fro: {tried:?}");
}
