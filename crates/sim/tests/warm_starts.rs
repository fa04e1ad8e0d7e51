//! Answers on new connections that know their path from the ones before.

mod common;

use std::sync::Arc;

use common::{answer, answers, times};
use kirikae_algorithms::{Algorithm, Rule, Switcher};
use kirikae_interface::{SCOPE_CAREFUL, SCOPE_FIRST_FLIGHT, policy, scope};
use kirikae_sim::{Flow, Host, Outcome};
use kirikae_tcp::{Control, Profile};

const LIFETIME_S: u32 = 600;
/// Where the answers come from.
const SERVER: u32 = 1;

/// Of a server that begins so.
fn warm(flags: u32, path_lifetime_s: u32, flow: Flow) -> Flow {
    let candidates: Vec<Algorithm> = Algorithm::all().collect();
    let tables = vec![kirikae_table::usual().kernel_table().into()];
    let policy = policy::one(scope { flags, path_lifetime_s, ..scope::usual() });
    let switcher = Switcher::new(policy, tables, &candidates).unwrap();
    let algorithm = Algorithm::stock("cubic").unwrap();
    let control = Control { algorithm, switcher: Some(Rule::Switcher(switcher)) };
    let profile = Arc::new(Profile::linux_6());
    Flow { server: Host { profile, control: Arc::new(control), address: SERVER }, ..flow }
}

/// Four, each 2 s after the one before.
fn one_by_one(flags: u32, path_lifetime_s: u32) -> Vec<Flow> {
    let flow = |number: u64| warm(flags, path_lifetime_s, answer(60_000, 2_000 * number, None));
    (0..4).map(flow).collect()
}

fn latencies_ms(outcome: &Outcome) -> Vec<f64> {
    times(outcome).iter().map(|(from, to)| to - from).collect()
}

/// Which connections began with what was known.
fn begun_warm(outcome: &Outcome) -> Vec<bool> {
    let is_warm = |flow: &kirikae_sim::FlowOutcome| {
        flow.switches.iter().any(|(_, switch)| switch.start.is_some())
    };
    outcome.flows.iter().map(is_warm).collect()
}

#[test]
fn each_begins_with_what_those_before_have_shown() {
    let outcome = answers(one_by_one(SCOPE_FIRST_FLIGHT, LIFETIME_S)).run().unwrap();
    assert_eq!(begun_warm(&outcome), [false, true, true, true]);
    // Half of what three have delivered is enough for a whole answer: the handshake, one way more, and 42
    // segments.
    let last = latencies_ms(&outcome)[3];
    assert!((last - (300.0 + 100.0 + 50.5)).abs() < 1.0, "{last} ms");
}

#[test]
fn where_nothing_is_remembered_all_are_alike() {
    let outcome = answers(one_by_one(SCOPE_FIRST_FLIGHT, 0)).run().unwrap();
    assert_eq!(begun_warm(&outcome), [false; 4]);
    let latencies = latencies_ms(&outcome);
    assert!(latencies.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-6), "{latencies:?}");
}

#[test]
fn what_was_remembered_is_of_one_run() {
    let simulation = answers(one_by_one(SCOPE_CAREFUL, LIFETIME_S));
    assert_eq!(simulation.run().unwrap(), simulation.run().unwrap());
}

#[test]
fn one_at_a_time_begins_with_it() {
    let mut flows = one_by_one(SCOPE_FIRST_FLIGHT, LIFETIME_S);
    // Beside the last.
    flows.push(warm(SCOPE_FIRST_FLIGHT, LIFETIME_S, answer(60_000, 6_100, None)));
    let outcome = answers(flows).run().unwrap();
    assert_eq!(begun_warm(&outcome), [false, true, true, true, false]);
}

#[test]
fn it_is_known_of_a_client_and_by_a_server() {
    let mut flows = one_by_one(SCOPE_FIRST_FLIGHT, LIFETIME_S);
    flows[1].client.address = 7;
    flows[2].server.address = 8;
    let outcome = answers(flows).run().unwrap();
    assert_eq!(begun_warm(&outcome), [false, false, false, true]);
}
