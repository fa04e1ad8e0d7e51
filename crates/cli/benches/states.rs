//! What this state of the code costs beside another: `sudo cargo bench -p kirikae --bench states -- OTHER`.
//!
//! OTHER is the program `kirikae` of another state, built with `--release`. nginx answers `ab` over loopback while
//! the agent of one state runs, then that of the other, by turns, each first as often: new connections of one
//! request each, and requests on connections that stay. The scope is `least-rtt = '0 s'`, so that the switcher
//! remembers each connection and makes a choice. Both rates, and the time that a run of the switcher takes by the
//! kernel's statistics (bpf_stats), are printed as this state over the other. `-- OTHER 20` makes 20 rounds.

#[path = "../tests/common/mod.rs"]
mod common;
mod statistics;
mod web;

use common::{OwnCgroup, RunningAgent, privileged};
use statistics::count_run_time;
use web::{Nginx, make_connections, make_requests, tell_ratio};

const ROUNDS: usize = 10;
const CONNECTIONS: &str = "15000";
const REQUESTS: &str = "50000";
/// Before those that are measured: an agent that has just started has displaced the caches.
const BEFORE: &str = "3000";

fn main() {
    if !privileged() {
        return;
    }
    let arguments: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let Some(other) = arguments.first() else {
        return println!("skipped: the program of another state is named after `--`");
    };
    let rounds = arguments.get(1).map_or(ROUNDS, |it| it.parse().expect("a number of rounds"));
    let cgroup = OwnCgroup::enter();
    let nginx = Nginx::start();
    let _statistics = count_run_time();
    let programs = [env!("CARGO_BIN_EXE_kirikae"), other];
    let mut measured = Vec::new();
    println!("round  state  connections/s  ns a run  requests/s  ns a run");
    for round in 0..rounds {
        let mut both = [[0.0; 4]; 2];
        for turn in 0..2 {
            let which = (round + turn) % 2;
            let agent = RunningAgent::start_program(programs[which], &cgroup, "least-rtt = '0 s'");
            let (connections, each) = while_counting(&agent, || {
                make_connections(nginx.port, BEFORE);
                make_connections(nginx.port, CONNECTIONS)
            });
            let (requests, of_request) =
                while_counting(&agent, || make_requests(nginx.port, REQUESTS));
            agent.stop();
            both[which] = [connections, each, requests, of_request];
            let name = ["this", "other"][which];
            println!(
                "{:5}  {name:5}  {connections:13.0}  {each:8.0}  {requests:10.0}  {of_request:8.0}",
                round + 1
            );
        }
        measured.push(both);
    }
    println!("this state over the other:");
    let names = ["connections/s", "ns a run, connections", "requests/s", "ns a run, requests"];
    for (column, name) in names.iter().enumerate() {
        tell_ratio(name, measured.iter().map(|[this, other]| (this[column], other[column])));
    }
}

/// What `f` returns, and the nanoseconds of the switcher's mean run meanwhile.
fn while_counting(agent: &RunningAgent, f: impl FnOnce() -> f64) -> (f64, f64) {
    let before = agent.cost();
    let returned = f();
    let after = agent.cost();
    let runs = after.runs - before.runs;
    assert!(runs > 0, "the switcher did not run");
    (returned, (after.time - before.time).as_nanos() as f64 / runs as f64)
}
