//! New connections a second, with an agent and without: `sudo cargo bench -p kirikae --bench connections`.
//!
//! nginx answers `ab` over loopback, one request a connection, twenty at a time, so that both ends are on the
//! host and nothing but the making of connections takes time. Switching cannot help such a connection, and
//! must not slow it down. The rounds are with and without an agent by turns, each in the other order. `-- 20`
//! makes 20 rounds.
//!
//! A program of the same kind that does nothing is measured as well: calling it is the kernel's own cost,
//! which nobody who asks for these callbacks can avoid.

#[path = "../tests/common/mod.rs"]
mod common;
mod web;

use kirikae_neighbour::{Habit, Neighbour};

use common::{OwnCgroup, RunningAgent, privileged};
use web::{Nginx, make_connections, tell_ratio};

const ROUNDS: usize = 10;
const REQUESTS: &str = "15000";
/// Requests before those that are measured: a program that was just started or stopped has displaced the
/// caches.
const BEFORE: &str = "3000";

fn main() {
    if !privileged() {
        return;
    }
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let rounds: usize = numbers.next_back().unwrap_or(ROUNDS);
    let cgroup = OwnCgroup::enter();
    let nginx = Nginx::start();
    let port = nginx.port;
    let mut rates = Vec::new();
    println!(" round  without, a second  idle program  agent  idle / without  agent / without");
    for round in 1..=rounds {
        let mut rate = [0.0; BESIDE.len()];
        for turn in 0..BESIDE.len() {
            let which = (round + turn) % BESIDE.len();
            rate[which] = BESIDE[which].connections_a_second(&cgroup, port);
        }
        let [without, idle, agent] = rate;
        let (of_idle, of_agent) = (idle / without, agent / without);
        println!(
            "{round:6}  {without:17.0}  {idle:12.0}  {agent:5.0}  {of_idle:14.3}  {of_agent:15.3}"
        );
        rates.push(rate);
    }
    drop(nginx);
    tell_ratio("an idle program", rates.iter().map(|[without, idle, _]| (*idle, *without)));
    tell_ratio("the agent", rates.iter().map(|[without, _, agent]| (*agent, *without)));
    tell_ratio(
        "the agent over an idle program",
        rates.iter().map(|[_, idle, agent]| (*agent, *idle)),
    );
}

/// What runs beside the connections while they are made.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    IdleProgram,
    Agent,
}

const BESIDE: [Beside; 3] = [Beside::Nothing, Beside::IdleProgram, Beside::Agent];

impl Beside {
    fn connections_a_second(self, cgroup: &OwnCgroup, port: u16) -> f64 {
        match self {
            Beside::Nothing => connections_a_second(port),
            Beside::IdleProgram => {
                let root = kirikae_agent::cgroup_root().expect("there are cgroups");
                let _idle = Neighbour::attach(Habit::Idles, &root).expect("the kernel takes it");
                connections_a_second(port)
            }
            Beside::Agent => {
                let agent = RunningAgent::start(cgroup, "name = 'all'");
                let rate = connections_a_second(port);
                agent.stop();
                rate
            }
        }
    }
}

fn connections_a_second(port: u16) -> f64 {
    make_connections(port, BEFORE);
    make_connections(port, REQUESTS)
}
