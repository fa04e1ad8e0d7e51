//! How fast the simulator is, beside ns-3 where that is installed: both on the same core and in
//! turns, in CPU time, the median of several rounds.
//!
//! `cargo bench -p kirikae-sim --bench speed`. Figures of a machine that does something else
//! meanwhile are too low.

mod cases;
mod memory;
mod ns3;

use std::time::{Duration, Instant};

use kirikae_sim::{Counters, Simulation, run_all};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use ns3::Ns3;

const ROUNDS: usize = 5;
/// Simulations of the comparison of one and two cores.
const PARALLEL: usize = 32;

/// A case in both simulators. Ours runs longer, for it to take some time.
struct Case {
    name: &'static str,
    simulation: Simulation,
    /// Bursts in it, if it is of bursts.
    bursts: Option<u64>,
    ns3: &'static str,
    /// Bursts in that.
    ns3_bursts: f64,
}

/// A second of CPU time.
#[derive(Clone, Copy)]
struct Speed {
    bursts: f64,
    packets: f64,
    events: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if memory::is_child(&arguments) {
        return memory::child(&arguments);
    }
    let all = sched_getaffinity(Pid::from_raw(0)).expect("the cores that may be used");
    let cores: Vec<usize> =
        (0..CpuSet::count()).filter(|core| all.is_set(*core).unwrap_or(false)).collect();
    let last = *cores.last().expect("at least one core");
    pin(&[last]);
    let ns3 = Ns3::build();
    match &ns3 {
        Ok(ns3) => println!(
            "ns-3 {} as its package was built; Debian's is about 1.5 times slower than one built \
             with -O3 -march=native",
            ns3.version
        ),
        Err(missing) => println!("without ns-3: {missing}"),
    }
    println!("one core (number {last}), CPU time, median of {ROUNDS} rounds\n");
    println!(
        "{:<14} {:<9} {:>12} {:>12} {:>12} {:>9}",
        "case", "", "bursts/s", "packets/s", "events/s", "ratio"
    );
    for case in cases() {
        measure(&case, ns3.as_ref().ok());
    }
    println!();
    memory::report();
    pin(&cores);
    scale(cores.len());
}

fn cases() -> [Case; 3] {
    let bursts = |name, links, ns3| Case {
        name,
        simulation: cases::bursts(20_000, links),
        bursts: Some(20_000),
        ns3,
        ns3_bursts: 1000.0,
    };
    let bulk = Case {
        name: "bulk",
        simulation: cases::bulk(60),
        bursts: None,
        ns3: "bulk 60",
        ns3_bursts: 0.0,
    };
    [bursts("bursts", 1, "burst 1000 1"), bursts("bursts, 3 hops", 3, "burst 1000 3"), bulk]
}

/// Runs a case in both simulators in turns and prints the medians.
fn measure(case: &Case, ns3: Option<&Ns3>) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (seconds, counters) = timed(&case.simulation);
        let per_second = |count: u64| count as f64 / seconds;
        ours.push(Speed {
            bursts: per_second(case.bursts.unwrap_or(0)),
            packets: per_second(counters.delivered),
            events: per_second(counters.events),
        });
        if let Some(run) = ns3.map(|ns3| ns3.run(case.ns3)) {
            theirs.push(Speed {
                bursts: case.ns3_bursts / run.cpu_s,
                packets: run.packets / run.cpu_s,
                events: run.events / run.cpu_s,
            });
        }
    }
    let ours = median(&ours).expect("there were rounds");
    print_row(case.name, "kirikae", case, ours, None);
    if let Some(theirs) = median(&theirs) {
        let ratio = if case.bursts.is_some() {
            ours.bursts / theirs.bursts
        } else {
            ours.packets / theirs.packets
        };
        print_row("", "ns-3", case, theirs, Some(ratio));
    }
}

fn print_row(name: &str, who: &str, case: &Case, speed: Speed, ratio: Option<f64>) {
    let bursts = case.bursts.map_or(String::new(), |_| format!("{:.0}", speed.bursts));
    let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.1} x"));
    let Speed { packets, events, .. } = speed;
    println!("{name:<14} {who:<9} {bursts:>12} {packets:>12.0} {events:>12.0} {ratio:>9}");
}

/// Seconds of CPU time, and how much was simulated in them.
fn timed(simulation: &Simulation) -> (f64, Counters) {
    let now = || -> Duration {
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock of the thread").into()
    };
    let began = now();
    let outcome = simulation.run().expect("a valid simulation");
    ((now() - began).as_secs_f64(), outcome.counters)
}

fn median(speeds: &[Speed]) -> Option<Speed> {
    let middle = |of: fn(&Speed) -> f64| {
        let mut values: Vec<f64> = speeds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    Some(Speed {
        bursts: middle(|speed| speed.bursts)?,
        packets: middle(|speed| speed.packets)?,
        events: middle(|speed| speed.events)?,
    })
}

/// Lets this thread, and those it starts, run on these cores alone.
fn pin(cores: &[usize]) {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core).expect("a core that may be used"));
    sched_setaffinity(Pid::from_raw(0), &set).expect("a core that may be used");
}

/// What a second core brings.
fn scale(cores: usize) {
    if cores < 2 {
        return println!("one core only: no speed-up by a second");
    }
    let simulations: Vec<Simulation> =
        (1..).take(PARALLEL).map(|seed| Simulation { seed, ..cases::bursts(2_000, 1) }).collect();
    let wall = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        #[allow(clippy::disallowed_methods, reason = "a bench measures real time")]
        let began = Instant::now();
        pool.install(|| run_all(&simulations, |_| ())).expect("valid simulations");
        began.elapsed().as_secs_f64()
    };
    let mut ratios: Vec<f64> = (0..ROUNDS).map(|_| wall(1) / wall(2)).collect();
    ratios.sort_by(f64::total_cmp);
    println!("two cores: {:.2} times as fast as one (wall time)", ratios[ROUNDS / 2]);
}
