//! `kirikae status`

use std::cmp::Reverse;
use std::fmt::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use kirikae_command::print;
use kirikae_daemon::client;
use kirikae_daemon::status::{Bursts, Guarding, Status};
use kirikae_terminal::{CellAlignment, Table, table};

/// Of so many cgroups in a scope it is said what was found out, if they are not only observed.
const CGROUPS_SHOWN: usize = 4;

/// Tell what the agent does
///
/// The policy in force and what the guard of each scope has found out, how many connections use which
/// algorithm, switches by reason, how long bursts took of connections that are switched and of those held
/// back, and what the agent costs. `kirikae top` shows the connections.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Prints the status.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let status: Status = client::get("/status")?;
    let text = || {
        let mut text = String::new();
        write_status(&mut text, &status).expect("writing to a string");
        text
    };
    print(&status, text, arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

fn write_status(out: &mut impl Write, status: &Status) -> fmt::Result {
    let up = humantime::format_duration(Duration::from_secs(status.up_s as u64));
    writeln!(out, "kirikae {} has been running for {up}", status.version)?;
    match &status.policy.file {
        Some(file) => writeln!(out, "policy      {file}, generation {}", status.policy.generation)?,
        None => writeln!(out, "policy      of the command line")?,
    }
    if let Some(page) = &status.page {
        let state = if page.is_served { "" } else { ": NOT served, somebody else has the port" };
        writeln!(out, "page        http://{}/{state}", page.address)?;
    }
    for scope in &status.policy.scopes {
        write_scope(out, &scope.name, &scope.matches, &scope.settings)?;
        if let Some(guard) = &scope.guard {
            write_guarding(out, guard)?;
        }
    }
    for warning in &status.warnings {
        writeln!(out, "warning     {warning}")?;
    }
    writeln!(out, "connections {}", counts(status.connections, &status.by_algorithm))?;
    writeln!(out, "            {}", counts(status.connections, &status.by_treatment))?;
    let switches = status.switches.values().sum();
    writeln!(out, "switches    {}", counts(switches, &status.switches))?;
    if status.observed > 0 {
        writeln!(out, "observed    {}", status.observed)?;
    }
    if status.events_lost > 0 {
        writeln!(out, "not told    {} switches: too many at once", status.events_lost)?;
    }
    if status.lines_lost > 0 {
        writeln!(out, "not printed {} lines: nobody took them", status.lines_lost)?;
    }
    if status.asked_again > 0 || status.unheard > 0 {
        writeln!(
            out,
            "callbacks   taken by another program; asked for again {} times, refused for {} connections",
            status.asked_again, status.unheard
        )?;
    }
    for (count, why) in status.refused.by_reason() {
        if count > 0 {
            writeln!(
                out,
                "refused     {count} connections by the kernel, which keep their algorithm: {why}"
            )?;
        }
    }
    let network = &status.network;
    if !network.is_alive || network.ended > 0 || network.dropped > 0 {
        writeln!(
            out,
            "network     {}; its thread ended {} times, messages of programs dropped: {}",
            if network.is_alive { "watched" } else { "not watched" },
            network.ended,
            network.dropped
        )?;
    }
    if status.revived > 0 {
        writeln!(out, "revived     {} times, when a path may have been back", status.revived)?;
    }
    if status.stranded > 0 {
        writeln!(
            out,
            "stranded    {} connections whose address was gone; {} of them were destroyed",
            status.stranded, status.destroyed
        )?;
    }
    if status.paths.known > 0 {
        writeln!(out, "paths       {}", super::paths::in_short(&status.paths))?;
    }
    if status.cost.runs > 0 {
        let ns = status.cost.time.as_nanos() as f64 / status.cost.runs as f64;
        writeln!(out, "cost        {} runs of the switcher, {ns:.0} ns each", status.cost.runs)?;
    }
    if !status.bursts.is_empty() {
        writeln!(out, "\n{}", bursts(&status.bursts))?;
        writeln!(
            out,
            "What bursts took until all was ACKed, less half a round trip; p50 and p95 within a factor \
             of 1.41."
        )?;
    }
    Ok(())
}

/// Writes what the guards of a scope have found out: of all of it, of cgroups that are only observed, and of some others
/// where there are several.
fn write_guarding(out: &mut impl Write, guard: &Guarding) -> fmt::Result {
    let time =
        |since: u64| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(since));
    const AGAIN: &str = "`kirikae resume` switches again";
    writeln!(out, "    {}", guard.says)?;
    if let Some(since) = guard.suspended_since {
        writeln!(out, "    only observed because of that since {}; {AGAIN}", time(since))?;
    }
    let is_only = guard.cgroups.len() == 1;
    let mut others = Vec::new();
    for group in &guard.cgroups {
        let (name, says) = (&group.cgroup, &group.says);
        match group.suspended_since {
            Some(since) if is_only => {
                let since = time(since);
                writeln!(
                    out,
                    "    {name} is only observed because of that since {since}; {AGAIN}"
                )?;
            }
            Some(since) => {
                writeln!(out, "    {name}: {says}; only observed since {}; {AGAIN}", time(since))?;
            }
            None => others.push(group),
        }
    }
    if is_only {
        return Ok(());
    }
    others.sort_by_key(|group| Reverse(group.bursts));
    for group in others.iter().take(CGROUPS_SHOWN) {
        writeln!(out, "    {}: {}", group.cgroup, group.says)?;
    }
    match others.len().saturating_sub(CGROUPS_SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "    and {more} more cgroups"),
    }
}

/// Writes a scope in a line.
pub fn write_scope(
    out: &mut impl Write,
    name: &str,
    matches: &str,
    settings: &[String],
) -> fmt::Result {
    let settings: String = settings.iter().map(|setting| format!("; {setting}")).collect();
    writeln!(out, "  {name}: {matches}{settings}")
}

/// A sum and its parts: `12: kk_cubic 10, kk_bbr 2`
fn counts<T>(sum: T, counts: &std::collections::BTreeMap<String, T>) -> String
where
    T: std::fmt::Display,
{
    let each: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if each.is_empty() { sum.to_string() } else { format!("{sum}: {}", each.join(", ")) }
}

fn bursts(all: &[Bursts]) -> Table {
    let mut table = table(["scope", "bursts below", "connections", "n", "mean", "p50", "p95"]);
    for bursts in all {
        let below = bursts.below_bytes.map_or("any".into(), |bytes| format!("{} KiB", bytes >> 10));
        let connections = if bursts.switched { "switched" } else { "stock" };
        let seconds = |value: f64| format!("{value:.3} s");
        table.add_row([
            bursts.scope.clone(),
            below,
            connections.into(),
            bursts.count.to_string(),
            seconds(bursts.mean_s),
            seconds(bursts.p50_s),
            seconds(bursts.p95_s),
        ]);
    }
    for column in 3..7 {
        let column = table.column_mut(column).expect("there are seven");
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
