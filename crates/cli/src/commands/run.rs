//! `kirikae run`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use kirikae_agent::{Agent, Config, Namespaces, Period, Pinning, Policy, Scope, Switch};
use kirikae_algorithms::{Algorithm, Timeouts};
use nix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::setting::{self, Setting};
use super::table::Choice;

const POLL: Duration = Duration::from_millis(200);

/// Switch the connections of this host, and say why, until Ctrl-C
///
/// Loads the algorithms and the switcher into the kernel, attaches the switcher to a cgroup and
/// prints one line for each switch of a connection. Connections that open from then on are
/// switched; programs that choose their congestion control themselves are left alone.
///
/// Ctrl-C, SIGTERM and SIGHUP put every connection back on what it had and leave nothing behind.
/// If the agent is killed, the kernel goes on alone; `kirikae undo` or the next `kirikae run`
/// puts everything back.
#[derive(clap::Args)]
pub struct Arguments {
    /// The cgroup (version 2) whose connections are switched [default: the root, so all]
    #[arg(long, value_name = "DIRECTORY", value_parser = cgroup)]
    cgroup: Option<PathBuf>,
    /// Measuring and switching period: `round-trip` (at least 50 ms) or a time such as `200ms`
    #[arg(long, value_name = "PERIOD", default_value = "round-trip", value_parser = period)]
    period: Period,
    /// Leave the retransmission timer of the connections as the kernel has it. Otherwise it goes off
    /// sooner, and backs off to at most a second for the first seven timeouts in a row
    #[arg(long)]
    kernel_timeouts: bool,
    /// Set a parameter of an algorithm, such as kk_hybla.rtt0_us=50000; `kirikae algorithms` lists
    /// them with their ranges. May be given several times
    #[arg(long, value_name = "ALGORITHM.PARAMETER=VALUE", value_parser = setting)]
    set: Vec<Setting>,
    #[command(flatten)]
    choice: Choice,
    /// Print each switch as a line of JSON
    #[arg(long)]
    json: bool,
}

fn cgroup(text: &str) -> Result<PathBuf, String> {
    let directory = PathBuf::from(text);
    // Only version 2 has this file.
    if directory.join("cgroup.controllers").exists() {
        return Ok(directory);
    }
    Err("allowed: a directory of the cgroup v2 hierarchy, such as /sys/fs/cgroup/system.slice"
        .into())
}

fn period(text: &str) -> Result<Period, String> {
    if text == "round-trip" {
        return Ok(Period::RoundTrip);
    }
    let allowed = "`round-trip`, or a time from 1ms to 60s with its unit";
    match humantime::parse_duration(text) {
        Ok(time) if (Duration::from_millis(1)..=Duration::from_secs(60)).contains(&time) => {
            Ok(Period::Fixed(time))
        }
        _ => Err(format!("allowed: {allowed}")),
    }
}

fn setting(text: &str) -> Result<Setting, String> {
    Setting::parse(text, Algorithm::all())
}

/// Runs until a signal.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let table = arguments.choice.kernel_table()?;
    kirikae_agent::requirements()?;
    let stop = Arc::new(AtomicBool::new(false));
    // SIGHUP: a lost ssh session must not leave the kernel switching with nobody told.
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let cgroup = match &arguments.cgroup {
        Some(cgroup) => cgroup.clone(),
        None => kirikae_agent::cgroup_root()?,
    };
    let candidates = kirikae_agent::candidates(&table)?;
    let agent = Agent::start(&Config {
        cgroup: cgroup.clone(),
        algorithms: setting::apply(&arguments.set, candidates.into_iter())?,
        policy: Policy::one(Scope {
            period: arguments.period,
            timeouts: if arguments.kernel_timeouts { Timeouts::Kernel } else { Timeouts::Adapted },
            ..Scope::new(table)
        }),
        adopt: Some(Namespaces::Every),
        pinning: Pinning::Pinned,
    })?;
    eprintln!("kirikae: switching new connections of cgroup {}; Ctrl-C ends it", cgroup.display());

    let mut printed = Ok(());
    let mut polled = Ok(());
    while printed.is_ok() && polled.is_ok() && !stop.load(Ordering::Relaxed) {
        polled = agent.poll(POLL, &mut |switch| {
            if printed.is_ok() {
                printed = print(&switch, arguments.json);
            }
        });
    }

    let lost = agent.events_lost();
    if lost > 0 {
        eprintln!("kirikae: {lost} switches were made and not reported: too many at once");
    }
    super::undo::report(agent.stop()?);
    polled?;
    printed?;
    Ok(ExitCode::SUCCESS)
}

fn print(switch: &Switch, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, switch)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{}  {switch}", humantime::format_rfc3339_millis(wall_clock(switch.at_ns)))?;
    }
    out.flush()
}

/// The wall clock at a moment of the kernel's monotonic clock.
fn wall_clock(at_ns: u64) -> SystemTime {
    let now = SystemTime::now();
    let Ok(monotonic) = clock_gettime(ClockId::CLOCK_MONOTONIC) else { return now };
    now - Duration::from(monotonic).saturating_sub(Duration::from_nanos(at_ns))
}
