//! How much memory many flows take: each measured in a process of its own.

use std::process::Command;

use kirikae_path::Span;

use crate::cases;

/// Tells a child what it is, and what it is to simulate.
const CHILD: &str = "--memory";
const MANY: usize = 10_000;

pub fn is_child(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|first| first == CHILD)
}

/// Simulates so many flows with so many bursts each, opened within so many seconds, and prints the most memory that it took, in kB.
pub fn child(arguments: &[String]) {
    let number = |place: usize| arguments[place].parse().expect("a number");
    let (flows, bursts, within): (u64, u64, u64) = (number(1), number(2), number(3));
    let simulation = cases::many(flows as usize, bursts, Span::from_secs(within));
    let outcome = simulation.run().expect("a valid simulation");
    let arrived = outcome.flows.iter().flat_map(|flow| &flow.client).filter(|w| w.last.is_some());
    assert_eq!(arrived.count() as u64, flows * bursts, "bursts that arrived");
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux");
    println!("{}", peak.trim().trim_end_matches(" kB"));
}

fn peak_kb(flows: usize, bursts: u64, within_s: usize) -> f64 {
    let this = std::env::current_exe().expect("this program has a path");
    let numbers = [flows.to_string(), bursts.to_string(), within_s.to_string()];
    let output = Command::new(this).arg(CHILD).args(numbers).output().expect("this program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number of kB")
}

pub fn report() {
    let few = MANY / 100;
    // One is opened each second and sends at once, so that hardly two send at the same time.
    let each = |bursts| {
        let more = peak_kb(MANY, bursts, MANY) - peak_kb(few, bursts, few);
        more * 1024.0 / (MANY - few) as f64
    };
    println!("an idle flow takes {:.0} bytes", each(0));
    println!("one that has sent a burst and is idle again takes {:.0}", each(1));
    let busy = peak_kb(MANY, 10, 10) / 1024.0;
    println!("{MANY} flows with 10 bursts of 64 KB each take {busy:.0} MiB in all");
}
