//! What a local connection costs while an agent runs, more closely than the bench `connections` can tell:
//! `sudo cargo bench -p kirikae --bench local`.
//!
//! The same connections, 1,500 at a time, are made by turns in three cgroups: without a program, with one
//! that does nothing, and with the switcher. No turn waits for an agent to start, so the load of the machine
//! changes less between two turns. What a kernel spends as soon as there is a sock_ops program anywhere is in
//! all three.

#[path = "../tests/common/mod.rs"]
mod common;
mod web;

use kirikae_neighbour::{Habit, Neighbour};

use common::{OwnCgroup, RunningAgent, privileged};
use web::{Nginx, make_connections, tell_ratio};

const ROUNDS: usize = 100;
const REQUESTS: &str = "1500";

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let rounds: usize = numbers.next_back().unwrap_or(ROUNDS);
    if !privileged() {
        return;
    }
    let home = OwnCgroup::enter();
    let places = ["without", "idle", "agent"].map(|name| {
        let cgroup = home.enter_below(name);
        let nginx = Nginx::start();
        home.enter_again();
        (cgroup, nginx)
    });
    let idle = Neighbour::attach(Habit::Idles, &places[1].0.path).expect("the kernel takes it");
    let agent = RunningAgent::start_at(&places[2].0, &[]);
    let mut rates = Vec::new();
    for round in 0..rounds {
        let mut rate = [0.0; 3];
        for turn in 0..places.len() {
            let which = (round + turn) % places.len();
            let (cgroup, nginx) = &places[which];
            cgroup.enter_again();
            rate[which] = make_connections(nginx.port, REQUESTS);
        }
        rates.push(rate);
    }
    home.enter_again();
    agent.stop();
    drop(idle);
    tell_ratio("a program that does nothing", rates.iter().map(|rate| (rate[1], rate[0])));
    tell_ratio("the agent", rates.iter().map(|rate| (rate[2], rate[0])));
    for (cgroup, nginx) in places {
        drop(nginx);
        drop(cgroup);
    }
}
