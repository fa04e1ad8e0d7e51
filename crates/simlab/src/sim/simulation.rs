//! One contender of a scenario as a simulation.

use std::sync::Arc;

use kirikae_algorithms::{Algorithm, Bpftune, Rule, Switcher};
use kirikae_path::{Direction, Span, Time, stream_seed};
use kirikae_policy::Scope;
use kirikae_scenario::{Bursts, Contender, Controls, FlowGroup, Scenario, schedule};
use kirikae_sim::{
    Activity, End, Flow, Host, Routes, Simulation, Split, Workload, Write, staggered,
};
use kirikae_table::thesis;
use kirikae_tcp::Control;

/// Time for the handshake before the first burst is due.
const RUN_UP: Span = Span::from_secs(2);
/// How long after the last burst was due a run may still take.
const PATIENCE: Span = Span::from_secs(60);
/// Labels of the streams of start times and of burst spacing, under the simulation's seed; those
/// below are the simulator's.
const GROUPS: u64 = 6;
const BURSTS: u64 = 7;
/// The first address of relays, beyond those of all ends.
const RELAYS: u32 = 1 << 31;
/// The first client's port and the server's that the records and captures show; a simulated connection has
/// none.
pub const PORTS: (u16, u16) = (20_000, 5201);

/// The scenario with one contender and one of its seeds.
pub fn simulation(
    scenario: &Scenario,
    contender: Contender,
    seed: u64,
    controls: &Controls,
) -> Simulation {
    let mut flows: Vec<Flow> = Vec::new();
    for (place, group) in (0..).zip(&scenario.flows) {
        let stagger = group.stagger.unwrap_or_default();
        let starts = staggered(group.count as usize, stagger, stream_seed(seed, &[GROUPS, place]));
        // One host for all connections of a group, as on the real kernel.
        let played = |end: End| {
            let contender = group.contender.unwrap_or(contender);
            let plays = if end == group.sender() { contender } else { Contender::BASELINE };
            host(scenario, plays, controls, 2 * place as u32 + end as u32)
        };
        let (client, server) = (played(End::Client), played(End::Server));
        let split = group.split.map(|split| Split {
            link: split.link,
            host: host(scenario, split.relay, controls, RELAYS + place as u32),
        });
        for start in starts {
            let flow = Flow {
                start: start + group.start,
                after: None,
                routes: routes(group),
                client: client.clone(),
                server: server.clone(),
                activities: Vec::new(),
                mobile: group.mobile.clone(),
                split: split.clone(),
            };
            let place = flows.len();
            match group.answers() {
                Some(bursts) => flows.extend(answers(bursts, &flow, place, seed)),
                None => flows.push(Flow {
                    activities: activities(scenario, group, place as u64, seed),
                    ..flow
                }),
            }
        }
    }
    let duration = scenario.duration.unwrap_or_else(|| last_write(&flows) + PATIENCE);
    let links = scenario.links.iter().map(|link| link.path.clone()).collect();
    Simulation { seed, links, flows, duration }
}

fn routes(group: &FlowGroup) -> Routes {
    Routes {
        forward: group.hops(Direction::Forward).collect(),
        backward: group.hops(Direction::Backward).collect(),
        snoop: group.snoop,
    }
}

/// A connection for each of the bursts, the first of them at this place among all flows, like `flow` but for
/// what is done and when.
fn answers(bursts: &Bursts, flow: &Flow, place: usize, seed: u64) -> Vec<Flow> {
    let connection = |(number, Write { at, bytes }): (usize, Write)| Flow {
        start: flow.start + at,
        after: (!bursts.overlap && number > 0).then(|| place + number - 1),
        activities: vec![Activity { after: Span::ZERO, workload: Workload::Answer { bytes } }],
        ..flow.clone()
    };
    writes(bursts, place as u64, 0, seed).enumerate().map(connection).collect()
}

/// What is done on a flow; `flow` is its place among all.
fn activities(scenario: &Scenario, group: &FlowGroup, flow: u64, seed: u64) -> Vec<Activity> {
    let run_up = if scenario.timed().is_some() { RUN_UP } else { Span::ZERO };
    let activity = |(place, activity): (u64, &kirikae_scenario::Activity)| Activity {
        after: run_up + activity.after,
        workload: match &activity.workload {
            kirikae_scenario::Workload::Bursts(bursts) => {
                let writes = writes(bursts, flow, place, seed).collect();
                if bursts.overlap { Workload::Writes(writes) } else { Workload::OneByOne(writes) }
            }
            kirikae_scenario::Workload::Writes(recorded) => {
                Workload::Writes(recorded.writes.clone())
            }
            kirikae_scenario::Workload::Simulated(workload) => workload.clone(),
        },
    };
    (0..).zip(&group.activities).map(activity).collect()
}

/// When each burst is due and how large it is, of the activity at this place on this flow.
fn writes(bursts: &Bursts, flow: u64, place: u64, seed: u64) -> impl Iterator<Item = Write> {
    // The first as on the real kernel.
    let first = flow == 0 && place == 0;
    let seed = if first { seed } else { stream_seed(seed, &[BURSTS, flow, place]) };
    let due = schedule::due_times(bursts, seed)
        .into_iter()
        .map(|due| Span::try_from(due).expect("a schedule of less than 584 years"));
    due.zip(schedule::sizes(bursts, seed)).map(|(at, bytes)| Write { at, bytes })
}

/// When the last write is due whose time is known beforehand.
fn last_write(flows: &[Flow]) -> Span {
    let activities = flows.iter().flat_map(|flow| {
        flow.activities.iter().map(|activity| (flow.start - Time::ZERO + activity.after, activity))
    });
    let last = |(begin, activity): (Span, &Activity)| match &activity.workload {
        Workload::Writes(writes) | Workload::OneByOne(writes) => {
            begin + writes.last().map_or(Span::ZERO, |write| write.at)
        }
        _ => begin,
    };
    activities.map(last).max().unwrap_or_default()
}

fn host(scenario: &Scenario, contender: Contender, controls: &Controls, address: u32) -> Host {
    let mut profile = scenario.stack.clone();
    if contender == Contender::CubicWithoutIdleRestart {
        profile.idle_restart = false;
    }
    let control = control(scenario, contender, controls).into();
    Host { profile: Arc::new(profile), control, address }
}

fn control(scenario: &Scenario, contender: Contender, controls: &Controls) -> Control {
    let algorithms = &controls.algorithms;
    let name = contender.congestion_control();
    let named = |name| algorithms.iter().copied().find(|algorithm| algorithm.name() == name);
    let algorithm = named(name)
        .or_else(|| Algorithm::stock(name))
        .or_else(|| Algorithm::of_the_thesis().find(|algorithm| algorithm.name() == name))
        .expect("a contender is one of ours, stock or the thesis'");
    let rule = match contender {
        Contender::Stock(_)
        | Contender::Fixed(_)
        | Contender::LossDifferentiation(_)
        | Contender::CubicWithoutIdleRestart => None,
        Contender::Kirikae | Contender::KirikaeOnBbr => {
            Some(Rule::Switcher(switcher(controls.scope(scenario), algorithms)))
        }
        Contender::RTcp => Some(Rule::Switcher(thesis(&controls.r_tcp_scope(scenario), controls))),
        Contender::Bpftune => {
            let bbr = Algorithm::stock("bbr").expect("the kernel has one");
            Some(Rule::Bpftune(Bpftune::new(bbr)))
        }
    };
    Control { algorithm, switcher: rule }
}

const OURS: &str = "the table's algorithms are ours";

fn switcher(scope: Scope, algorithms: &[Algorithm]) -> Switcher {
    let table = Arc::clone(&scope.table);
    let policy = kirikae_interface::policy::one(scope.kernel_scope(0));
    Switcher::new(policy, vec![table], algorithms).expect(OURS)
}

/// The controls say what it may choose.
fn thesis(scope: &Scope, controls: &Controls) -> Switcher {
    let table = thesis::among(&controls.r_tcp).expect("the thesis' tables are good");
    let policy = kirikae_interface::policy::one(scope.kernel_scope(0));
    Switcher::thesis(policy, table, &controls.algorithms).expect(OURS)
}
