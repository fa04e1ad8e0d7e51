//! In the guest: one capability after the other.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use kirikae_emu::Emulated;
use kirikae_path::{ElementSpec, Intervals, OutageSpec, PathSpec, QueueLimit, Span, Time};

use super::agent::{Agent, nothing_is_left, succeed};
use super::algorithms;
use super::capability::{Capability, Line, Outcome};
use super::connection::Connection;

const ROUND_TRIP: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_secs(3);
const BURST: usize = 64 << 10;

/// Looks at all of them, and prints a line for each. Few agents are started: their programs take the longest
/// to verify.
pub fn inside() -> anyhow::Result<()> {
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
    ensure!(up.success(), "ip link set lo up failed");
    say(Capability::Load, carried())?;
    say(Capability::Verify, verified())?;
    let mut open = Connection::open()?;
    open.talk()?;
    let stock = Stock::look(&mut open)?;
    match Agent::start("") {
        Ok(agent) => {
            say(Capability::Adopt, adopted(&mut open))?;
            say(Capability::Idle, idle_keep(&stock))?;
            say(Capability::Switch, switch())?;
            say(Capability::Timer, timer(&stock))?;
            say(Capability::Outage, outage())?;
            say(Capability::Undo, undo(agent, open, &stock))?;
        }
        Err(error) => say(Capability::Adopt, Err(error))?,
    }
    // What failed half way must not be in the way of the next.
    let _ = succeed(&["undo"]);
    match Agent::start("observe = true") {
        Ok(agent) => {
            let mut connection = Connection::open()?;
            say(Capability::Observe, observe(&mut connection))?;
            say(Capability::Reload, reload(&agent, &mut connection))?;
            say(Capability::Stop, stop(agent, &mut connection))?;
        }
        Err(error) => say(Capability::Observe, Err(error))?,
    }
    Ok(())
}

fn say(capability: Capability, found: anyhow::Result<Outcome>) -> anyhow::Result<()> {
    let outcome = found.unwrap_or_else(|error| Outcome::Fails(format!("{error:#}")));
    println!("{}", serde_json::to_string(&Line { capability, outcome })?);
    Ok(())
}

fn works(seen: String) -> anyhow::Result<Outcome> {
    Ok(Outcome::Works(seen))
}

fn carried() -> anyhow::Result<Outcome> {
    works(format!("{} carry data", algorithms::carry_data()?))
}

/// What the verifier may walk of the switcher at most, of the million after which it gives up.
const VERIFIED_AT_MOST: u32 = 500_000;

/// What it walked when that was last written down (docs/kernels.md): whoever makes it walk a fifth more
/// is to know of it, and to write down the new figure here and there.
const VERIFIED: [(&str, u32); 10] = [
    ("6.1", 225_320),
    ("6.12", 180_026),
    ("6.16", 215_542),
    ("6.17", 215_554),
    ("6.18", 222_382),
    ("6.19", 222_382),
    ("7.0", 222_008),
    ("7.1", 173_852),
    ("7.2", 173_809),
    ("7.3", 173_809),
];

/// Refuses what the verifier walks of the switcher where it is too much, or much more than it was.
fn held(release: &str, walked: u32) -> anyhow::Result<()> {
    ensure!(walked <= VERIFIED_AT_MOST, "{walked} instructions; {VERIFIED_AT_MOST} at most");
    let is_of = |series: &str| {
        release
            .strip_prefix(series)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if let Some((_, before)) = VERIFIED.iter().find(|(series, _)| is_of(series)) {
        ensure!(
            u64::from(walked) * 5 <= u64::from(*before) * 6,
            "{walked} instructions, over a fifth more than the {before} in docs/kernels.md"
        );
    }
    Ok(())
}

fn verified() -> anyhow::Result<Outcome> {
    let support: serde_json::Value = serde_json::from_str(&succeed(&["support", "--json"])?)?;
    let features = support["features"].as_array().context("support lists features")?;
    let switcher =
        features.iter().find(|it| it["name"] == "switcher").context("the switcher too")?;
    let found = switcher["found"].as_str().unwrap_or_default();
    let walked = found.split(' ').find_map(|word| word.parse::<u32>().ok());
    let walked = walked.with_context(|| found.to_owned())?;
    held(&fs::read_to_string("/proc/sys/kernel/osrelease")?, walked)?;
    works(format!("{walked} instructions of the switcher"))
}

/// A path with a queue that never drops, behind something else; None where the kernel has no TUN devices.
fn path(behind: ElementSpec) -> anyhow::Result<Option<Emulated>> {
    if !Path::new("/dev/net/tun").exists() {
        return Ok(None);
    }
    let delay = ElementSpec::Delay { delay: Span::from_millis(ROUND_TRIP.as_millis() as u64 / 2) };
    let limit = QueueLimit::Packets(1000);
    let rate = ElementSpec::Rate { bits_per_second: 20_000_000, limit };
    let spec = PathSpec { forward: vec![behind, rate, delay.clone()], backward: vec![delay] };
    let path = Emulated::create(&spec, 1, "life")?;
    path.sender().set_sysctl("net.ipv4.tcp_congestion_control", "cubic")?;
    Ok(Some(path))
}

fn loss(probability: f64) -> ElementSpec {
    ElementSpec::Loss { probability }
}

fn no_path() -> Outcome {
    Outcome::Lacks("no TUN devices in this kernel's packages, so that there is no path".into())
}

/// Median time until a burst is ACKed after idle time, milliseconds, and the windows before and after.
fn after_idle(connection: &mut Connection) -> anyhow::Result<(u128, u32, u32)> {
    for _ in 0..6 {
        connection.send(BURST)?;
    }
    let mut took = Vec::new();
    let mut windows = (0, 0);
    for _ in 0..5 {
        windows.0 = connection.info()?.tcpi_snd_cwnd;
        thread::sleep(IDLE);
        took.push(connection.send(BURST)?.as_millis());
        windows.1 = connection.info()?.tcpi_snd_cwnd;
    }
    took.sort_unstable();
    Ok((took[2], windows.0, windows.1))
}

/// Measurements without an agent.
struct Stock {
    algorithm: String,
    rto_ms: u32,
    /// Time of a burst after idle time; None if there is no path.
    idle_ms: Option<u128>,
}

impl Stock {
    fn look(connection: &mut Connection) -> anyhow::Result<Stock> {
        let (algorithm, rto_ms) = (connection.algorithm()?, connection.rto_ms()?);
        let idle_ms = match path(loss(0.0))? {
            Some(path) => Some(after_idle(&mut Connection::open_over(&path)?)?.0),
            None => None,
        };
        Ok(Stock { algorithm, rto_ms, idle_ms })
    }
}

fn idle_keep(stock: &Stock) -> anyhow::Result<Outcome> {
    let (Some(path), Some(stock_ms)) = (path(loss(0.0))?, stock.idle_ms) else {
        return Ok(no_path());
    };
    let mut connection = Connection::open_over(&path)?;
    let (ours_ms, before, after) = after_idle(&mut connection)?;
    let name = connection.algorithm()?;
    path.finish()?;
    ensure!(name.starts_with("kk_"), "not switched: {name}");
    ensure!(
        ours_ms * 2 <= stock_ms && after >= before,
        "{ours_ms} ms where stock cubic takes {stock_ms}; window {before}, then {after}"
    );
    works(format!("{ours_ms} ms, stock cubic {stock_ms}; {name}, window {before}, then {after}"))
}

fn switch() -> anyhow::Result<Outcome> {
    let Some(path) = path(loss(0.02))? else { return Ok(no_path()) };
    let mut connection = Connection::open_over(&path)?;
    let before = connection.algorithm()?;
    for _ in 0..20 {
        connection.send(BURST)?;
        thread::sleep(Duration::from_millis(200));
    }
    let (after, lost) = (connection.algorithm()?, connection.info()?.tcpi_total_retrans);
    path.finish()?;
    ensure!(after.starts_with("kk_") && lost > 0, "{before}, then {after}; {lost} sent again");
    works(format!("{before} to {after}, {lost} segments sent again"))
}

fn timer(stock: &Stock) -> anyhow::Result<Outcome> {
    let mut connection = Connection::open()?;
    connection.talk()?;
    let ours_ms = connection.rto_ms()?;
    ensure!(ours_ms * 2 <= stock.rto_ms, "{ours_ms} ms where the kernel has {}", stock.rto_ms);
    works(format!("{ours_ms} ms for the kernel's {}", stock.rto_ms))
}

/// Its bound stays for eight round trips after the outage.
fn outage() -> anyhow::Result<Outcome> {
    let [from, to, end] = [2_000, 4_000, 8_000].map(|ms| Time::ZERO + Span::from_millis(ms));
    let when = Intervals { intervals: vec![(from, to)], every: None };
    let gone = ElementSpec::Outage(OutageSpec { when, hold: false, carrier: false });
    let begun = Instant::now();
    let Some(path) = path(gone)? else { return Ok(no_path()) };
    let mut connection = Connection::open_over(&path)?;
    let mut longest = Duration::ZERO;
    while begun.elapsed() < Duration::from_nanos(end.as_nanos()) {
        longest = longest.max(connection.send(1_000)?);
        thread::sleep(Duration::from_millis(20));
    }
    let given_up_after = connection.given_up_after()?;
    path.finish()?;
    ensure!(longest > Duration::from_secs(1), "nothing was written while the path was gone");
    ensure!(given_up_after.is_none(), "it has kept {given_up_after:?}");
    works(format!("a write took {} ms, and the kernel's time is what it was", longest.as_millis()))
}

fn adopted(open: &mut Connection) -> anyhow::Result<Outcome> {
    let before = open.algorithm()?;
    let after = open.talk()?;
    if after.starts_with("kk_") {
        return works(format!("{before} to {after}"));
    }
    let support: serde_json::Value = serde_json::from_str(&succeed(&["support", "--json"])?)?;
    let features = support["features"].as_array().context("support lists features")?;
    let adoption = features.iter().find(|it| it["name"] == "adoption").context("adoption, too")?;
    ensure!(adoption["state"] == "missing", "{after}, and support says {}", adoption["state"]);
    Ok(Outcome::Lacks("open connections keep what they have, as `kirikae support` says".into()))
}

/// Killed, and undone.
fn undo(agent: Agent, mut before: Connection, stock: &Stock) -> anyhow::Result<Outcome> {
    agent.kill()?;
    let mut orphan = Connection::open()?;
    let orphans = orphan.talk()?;
    let said = succeed(&["undo"])?;
    ensure!(orphans.starts_with("kk_"), "{orphans} without an agent");
    nothing_is_left()?;
    for connection in [&mut before, &mut orphan] {
        let name = connection.talk()?;
        ensure!(name == stock.algorithm, "{name} afterwards; undo said {said}");
    }
    let mut later = Connection::open()?;
    later.talk()?;
    let rto_ms = later.rto_ms()?;
    ensure!(rto_ms * 10 >= stock.rto_ms * 9, "{rto_ms} ms afterwards, {} before", stock.rto_ms);
    works(format!("{orphans} without an agent, {} after undo", stock.algorithm))
}

fn observe(connection: &mut Connection) -> anyhow::Result<Outcome> {
    let name = connection.talk()?;
    let status = succeed(&["status", "--json"])?;
    ensure!(!name.starts_with("kk_"), "switched to {name}");
    ensure!(status.contains("kk_"), "no choice in {status}");
    works(format!("keeps {name}, and another is named"))
}

fn reload(agent: &Agent, connection: &mut Connection) -> anyhow::Result<Outcome> {
    let before = connection.algorithm()?;
    agent.reload("algorithms = [\"kk_westwood\"]")?;
    let after = connection.talk()?;
    agent.reload("observe = true")?;
    let at_last = connection.talk()?;
    ensure!(after == "kk_westwood", "{before}, then {after}");
    ensure!(at_last == before, "{before}, then {after}, then {at_last}");
    agent.reload("")?;
    let switched = connection.talk()?;
    ensure!(switched.starts_with("kk_"), "{switched} at last");
    works(format!("{before}, {after}, {at_last}, {switched}"))
}

fn stop(agent: Agent, connection: &mut Connection) -> anyhow::Result<Outcome> {
    agent.stop()?;
    nothing_is_left()?;
    let algorithm = connection.talk()?;
    ensure!(!algorithm.starts_with("kk_"), "{algorithm} afterwards");
    works(format!("{algorithm} afterwards, and nothing is left"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switcher_may_not_grow_unseen() {
        let written_down =
            |wanted| VERIFIED.iter().find(|(series, _)| *series == wanted).unwrap().1;
        let of_6_1 = written_down("6.1");
        assert!(held("6.1.0-56-cloud-amd64", of_6_1 / 5 * 6).is_ok());
        assert!(held("6.1.0-56-cloud-amd64", of_6_1 / 5 * 6 + 6).is_err());
        let of_6_12 = written_down("6.12");
        assert!(of_6_1 > of_6_12 / 5 * 6 + 6, "or the next line says nothing");
        assert!(held("6.12.118+deb13-cloud-amd64", of_6_1).is_err(), "6.12 is not 6.1");
        assert!(held("9.0.1", 500_000).is_ok(), "nothing is known of it");
        assert!(held("9.0.1", 500_001).is_err());
    }
}
