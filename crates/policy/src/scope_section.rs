//! A scope of the operator's policy as people write it: a `[[scope]]` of a policy file, or the
//! `[scope]` of a scenario.

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use kirikae_interface::CGROUP_LEVELS;
use kirikae_settings::Refusal;
use kirikae_settings::section::{Field, Section};
use kirikae_table::{Friendliness, KernelTable, LatencyTable};

use crate::policy::{
    Hysteresis, LEAST_RTT, Matching, Objective, Period, Scope, Timeouts, WhenAddressGone,
};
use crate::warm_start::{PATH_LIFETIME, WarmStart};

const PERIOD: &str = r#""round-trip", or a time from "1 ms" to "60 s" such as "200 ms""#;
const PORTS: &str = r#"a port or a range of them, such as 22 or "5900-5999""#;
const PREFIX: &str = r#"an address or a prefix, such as "192.0.2.0/24" or "2001:db8::/32""#;
const CGROUP: &str = "a cgroup v2 as seen from the root of its hierarchy, such as \
                      \"system.slice/sshd.service\", at most 15 levels below that";

/// The keys that say which connections match.
const MATCHING: [&str; 3] = ["cgroup", "local-port", "remote"];
/// Keys that only an agent uses.
const AGENTS: [&str; 2] = [GUARD, WHEN_ADDRESS_GONE];
const GUARD: &str = "guard";
/// What becomes of connections whose local address is gone.
pub const WHEN_ADDRESS_GONE: &str = "when-address-gone";
/// All other keys.
const KEYS: [&str; 14] = [
    "name",
    "objective",
    "friendliness",
    "algorithms",
    "idle-keep",
    "timeouts",
    "period",
    "least-rtt",
    "hysteresis",
    "respect-application",
    "holdback",
    "observe",
    "warm-start",
    "path-lifetime",
];

/// The latency table that scopes choose by.
#[derive(Clone, Debug)]
pub struct Latencies<'a> {
    /// The table with all candidates.
    pub table: Cow<'a, LatencyTable>,
    /// Whether the operator named the table.
    pub is_given: bool,
}

impl Latencies<'_> {
    /// The friendliness that holds: the one that is said. If none is, a table that the operator named has all
    /// of its candidates, and the usual one otherwise holds.
    pub fn friendliness(&self, said: Option<Friendliness>) -> Friendliness {
        match said {
            None if self.is_given => Friendliness::Fast,
            said => said.unwrap_or_default(),
        }
    }

    /// The table with only the candidates that may be chosen.
    ///
    /// # Errors
    /// Fails if no candidate is left.
    pub fn restricted(
        &self,
        friendliness: Friendliness,
        algorithms: Option<Vec<&str>>,
        section: &Section,
    ) -> Result<Arc<KernelTable>, Refusal> {
        let table = match algorithms {
            Some(names) => &self.table.restricted(&names),
            None => &*self.table,
        };
        let table = friendliness.apply(table).map_err(|error| {
            section.refuse_at("friendliness", &error.to_string(), "one that allows some of them")
        })?;
        Ok(table.kernel_table().into())
    }
}

/// The scope of some of a host's connections; `usual_name` is for one without a name.
///
/// # Errors
/// Fails with the first thing that is wrong: its file, line and key, and what is allowed.
pub fn read_scope(
    section: &Section,
    usual_name: String,
    latencies: &Latencies,
    cgroup_root: &Path,
) -> Result<Scope, Refusal> {
    section.allow(&[&KEYS[..1], &MATCHING, &KEYS[1..], &AGENTS].concat())?;
    let matching = Matching {
        cgroups: each(section, "cgroup", |field| cgroup(field, cgroup_root))?,
        local_ports: each(section, "local-port", ports)?,
        remotes: each(section, "remote", prefix)?,
    };
    treatment(section, usual_name, matching, latencies)
}

/// A scope of all connections: there keys that say which connections match are refused.
///
/// # Errors
/// Fails as [`read_scope`] does.
pub fn read_scope_of_all(section: &Section, latencies: &Latencies) -> Result<Scope, Refusal> {
    const ALL: &str = "no cgroup, local-port or remote: the scope is that of every connection here";
    if let Some(field) = MATCHING.iter().find_map(|key| section.optional(key)) {
        return Err(field.refuse(ALL));
    }
    section.allow(&KEYS)?;
    treatment(section, "all".into(), Matching::default(), latencies)
}

/// The settings that hold for the connections.
fn treatment(
    section: &Section,
    usual_name: String,
    matching: Matching,
    latencies: &Latencies,
) -> Result<Scope, Refusal> {
    let friendliness = section.optional("friendliness").map(|field| {
        Ok(Friendliness::ALL[field.choice(&Friendliness::ALL.map(Friendliness::name))?])
    });
    let algorithms = section.optional("algorithms").map(|field| algorithms(&field, latencies));
    let said = friendliness.transpose()?;
    let friendliness = latencies.friendliness(said);
    let table = latencies.restricted(friendliness, algorithms.transpose()?, section)?;
    let flag_or_true = |key| section.optional(key).map_or(Ok(true), |field| field.boolean());
    Ok(Scope {
        name: section.optional("name").map_or(Ok(usual_name), |field| name(&field))?,
        matching,
        table,
        objective: [Objective::Latency, Objective::Throughput]
            [section.choice_or_first("objective", &["latency", "throughput"])?],
        period: section.optional("period").map_or(Ok(Period::RoundTrip), |it| period(&it))?,
        timeouts: [Timeouts::Adapted, Timeouts::Kernel]
            [section.choice_or_first("timeouts", &["adapted", "kernel"])?],
        idle_keep: flag_or_true("idle-keep")?,
        respect_application: flag_or_true("respect-application")?,
        observed: section.flag("observe")?,
        holdback: section
            .optional("holdback")
            .map_or(Ok(0.0), |field| field.number(0.0..=1.0, "a share of the time, from 0 to 1"))?,
        guard: flag_or_true(GUARD)?,
        least_rtt: section.optional("least-rtt").map_or(Ok(LEAST_RTT), |it| least_rtt(&it))?,
        hysteresis: section
            .optional("hysteresis")
            .map_or(Ok(Hysteresis::default()), |field| hysteresis(&field))?,
        warm_start: section.optional("warm-start").map_or(Ok(friendliness.into()), |field| {
            Ok(WarmStart::ALL[field.choice(&WarmStart::ALL.map(WarmStart::name))?])
        })?,
        path_lifetime: section
            .optional("path-lifetime")
            .map_or(Ok(PATH_LIFETIME), |field| path_lifetime(&field))?,
        when_address_gone: [WhenAddressGone::Tell, WhenAddressGone::Destroy]
            [section.choice_or_first(WHEN_ADDRESS_GONE, &["tell", "destroy"])?],
    })
}

/// Reads the value of a key: a single one, or a list.
fn each<T>(
    section: &Section,
    key: &str,
    parse: impl Fn(&Field) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    match section.optional(key) {
        None => Ok(Vec::new()),
        Some(field) if field.is_list() => {
            field.list("at least one in the list")?.iter().map(parse).collect()
        }
        Some(field) => Ok(vec![parse(&field)?]),
    }
}

/// Reads the name, which appears in labels and tables.
fn name(field: &Field) -> Result<String, Refusal> {
    const ALLOWED: &str = "1 to 40 printable characters";
    let text = field.text(ALLOWED)?;
    let is_allowed = (1..=40).contains(&text.chars().count()) && !text.contains(char::is_control);
    if is_allowed { Ok(text.into()) } else { Err(field.refuse(ALLOWED)) }
}

fn algorithms<'a>(field: &Field<'a>, latencies: &Latencies) -> Result<Vec<&'a str>, Refusal> {
    let candidates: Vec<&str> = latencies.table.algorithms.iter().map(String::as_str).collect();
    let allowed = format!("a list of candidates of the latency table: {}", candidates.join(", "));
    let list = field.list(&allowed)?;
    list.iter()
        .map(|each| match each.text(&allowed)? {
            name if candidates.contains(&name) => Ok(name),
            _ => Err(each.refuse(&*allowed)),
        })
        .collect()
}

fn cgroup(field: &Field, cgroup_root: &Path) -> Result<PathBuf, Refusal> {
    let written = field.text(CGROUP)?;
    let inside = Path::new(written);
    let inside = inside.strip_prefix(cgroup_root).unwrap_or(inside);
    let directory = cgroup_root.join(inside.strip_prefix("/").unwrap_or(inside));
    let is_looked_at =
        directory.components().count() - cgroup_root.components().count() < CGROUP_LEVELS as usize;
    // Only version 2 has this file. A directory that does not exist may be created later.
    if is_looked_at && (directory.join("cgroup.controllers").exists() || !directory.exists()) {
        Ok(directory)
    } else {
        Err(field.refuse(CGROUP))
    }
}

fn ports(field: &Field) -> Result<RangeInclusive<u16>, Refusal> {
    let range = match field.text(PORTS) {
        Err(_) => {
            let port = field.whole(1..=65_535).map_err(|_| field.refuse(PORTS))? as u16;
            Some(port..=port)
        }
        Ok(text) => {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let port = |text: &str| text.trim().parse().ok().filter(|port| *port > 0);
            port(first).zip(port(last)).map(|(first, last)| first..=last)
        }
    };
    range.filter(|range| !range.is_empty()).ok_or_else(|| field.refuse(PORTS))
}

fn prefix(field: &Field) -> Result<IpNet, Refusal> {
    let text = field.text(PREFIX)?;
    let alone = text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or(alone).map_err(|_| field.refuse(PREFIX))
}

fn period(field: &Field) -> Result<Period, Refusal> {
    if field.text(PERIOD)? == "round-trip" {
        return Ok(Period::RoundTrip);
    }
    match field.quantity::<Duration>() {
        Ok(time) if (Duration::from_millis(1)..=Duration::from_secs(60)).contains(&time) => {
            Ok(Period::Fixed(time))
        }
        _ => Err(field.refuse(PERIOD)),
    }
}

fn least_rtt(field: &Field) -> Result<Duration, Refusal> {
    const ALLOWED: &str =
        r#"a time from "0 s" to "60 min" in ns, us, ms, s or min, such as "1 ms""#;
    if field.text(ALLOWED)? == "0 s" {
        return Ok(Duration::ZERO);
    }
    field.quantity().map_err(|_| field.refuse(ALLOWED))
}

fn path_lifetime(field: &Field) -> Result<Duration, Refusal> {
    const ALLOWED: &str = r#""0 s" for none, or a time from "1 s" to "1440 min", such as "10 min""#;
    if field.text(ALLOWED)? == "0 s" {
        return Ok(Duration::ZERO);
    }
    match field.quantity::<Duration>() {
        Ok(time) if (Duration::from_secs(1)..=Duration::from_secs(86_400)).contains(&time) => {
            Ok(time)
        }
        _ => Err(field.refuse(ALLOWED)),
    }
}

fn hysteresis(field: &Field) -> Result<Hysteresis, Refusal> {
    let section = field.section("a table, such as { margin = 0.03, agreeing = 2, dwell = 4 }")?;
    section.allow(&["margin", "agreeing", "dwell"])?;
    let usual = Hysteresis::default();
    let choices = |key, usual: u32| {
        let field = section.optional(key);
        field.map_or(Ok(usual), |field| field.whole(1..=1000).map(|choices| choices as u32))
    };
    Ok(Hysteresis {
        margin: section.optional("margin").map_or(Ok(usual.margin), |field| {
            field.number(0.0..=1.0, "a share of the latency, from 0 to 1")
        })?,
        agreeing: choices("agreeing", usual.agreeing)?,
        dwell: choices("dwell", usual.dwell)?,
    })
}
