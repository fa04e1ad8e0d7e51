//! The operator's policy as a file, /etc/kirikae/kirikae.toml. packaging/kirikae.toml has every key,
//! with what it means.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use kirikae_agent::{
    Hysteresis, LEAST_RTT, Matching, Namespaces, Objective, Period, Policy, RULES, SCOPES, Scope,
};
use kirikae_algorithms::Timeouts;
use kirikae_settings::Refusal;
use kirikae_settings::section::{Field, Section, Source};
use kirikae_table::{Friendliness, KernelTable, LatencyTable};

const FILE: &str = "a policy file in TOML, see packaging/kirikae.toml";
const NAMESPACES: &str = r#""every", "none", or a list of files such as ["/run/netns/web"]"#;
const PERIOD: &str = r#""round-trip", or a time from "1 ms" to "60 s" such as "200 ms""#;
const PORTS: &str = r#"a port or a range of them, such as 22 or "5900-5999""#;
const PREFIX: &str = r#"an address or a prefix, such as "192.0.2.0/24" or "2001:db8::/32""#;
const CGROUP: &str = "a cgroup v2 as seen from the root of its hierarchy, such as \
                      \"system.slice/sshd.service\"";
const ADDRESS: &str = r#"an address with its port, such as "127.0.0.1:8425""#;
const READERS: &str = r#""root", "everyone", or a group such as "group:adm""#;

/// A policy file, read and checked as a whole.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    /// What the kernel is given.
    pub policy: Policy,
    /// Where connections that are open already are taken in; None: nowhere.
    pub adopt: Option<Namespaces>,
    /// Who is told what.
    pub status: SeenBy,
}

/// How the agent is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenBy {
    /// Who may read its status, besides root.
    pub readers: Readers,
    /// Where the web page and the metrics are served; None: nowhere.
    pub page: Option<SocketAddr>,
}

/// Who may read the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Readers {
    /// Nobody but root.
    #[default]
    Root,
    /// The members of a group.
    Group(String),
    /// Every user of the host.
    Everyone,
}

/// What a file is read against.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// Root of the cgroup v2 hierarchy.
    pub cgroup_root: &'a Path,
}

impl PolicyFile {
    /// Reads and checks a file, its latency table included.
    ///
    /// # Errors
    /// What is wrong first, with file, line, key and what is allowed.
    pub fn read(file: &Path, host: Host) -> Result<PolicyFile, Refusal> {
        PolicyFile::parse(&Source::read(file, FILE)?, host)
    }

    /// The same of a text.
    ///
    /// # Errors
    /// As [`read`](PolicyFile::read).
    pub fn parse(source: &Source, host: Host) -> Result<PolicyFile, Refusal> {
        let table = source.root()?;
        let root = Section::root(source, &table, &[]);
        root.allow(&["adopt", "table", "status", "scope"])?;
        let latencies = match root.optional("table") {
            Some(field) => Latencies { table: Cow::Owned(read_table(&field)?), is_given: true },
            None => Latencies { table: Cow::Borrowed(kirikae_table::shipped()), is_given: false },
        };
        let adopt = root.optional("adopt").map_or(Ok(Some(Namespaces::Every)), |it| adopt(&it))?;
        let status = root.optional("status").map_or(Ok(SeenBy::default()), |it| status(&it))?;
        let scopes = match root.optional("scope") {
            Some(field) => {
                const SCOPES_ALLOWED: &str = "[[scope]], 1 to 16 of them";
                let sections = field.tables(SCOPES_ALLOWED)?;
                if sections.len() > SCOPES {
                    return Err(field.refuse(SCOPES_ALLOWED));
                }
                let scope = |(number, section)| scope(number, &section, &latencies, host);
                sections.into_iter().enumerate().map(scope).collect::<Result<Vec<_>, _>>()?
            }
            None => vec![Scope::new(latencies.restricted(None, None, &root)?)],
        };
        let names: Vec<&str> = scopes.iter().map(|scope| scope.name.as_str()).collect();
        if let Some(number) =
            (1..names.len()).find(|&number| names[..number].contains(&names[number]))
        {
            let found = format!("a second scope named {}", names[number]);
            return Err(root.refuse_at("scope", &found, "a name of its own for each"));
        }
        let rules: usize = scopes.iter().map(|scope| scope.matching.combinations()).sum();
        if rules > RULES {
            let found = format!("{rules} combinations of cgroup, port range and prefix");
            return Err(root.refuse_at("scope", &found, &format!("at most {RULES}")));
        }
        Ok(PolicyFile { policy: Policy { scopes }, adopt, status })
    }
}

/// What scopes choose by.
struct Latencies {
    table: Cow<'static, LatencyTable>,
    /// Whether the operator named the table.
    is_given: bool,
}

impl Latencies {
    /// With the algorithms that may be chosen. All of a table that was given, where nothing is said.
    fn restricted(
        &self,
        friendliness: Option<Friendliness>,
        algorithms: Option<Vec<&str>>,
        section: &Section,
    ) -> Result<Arc<KernelTable>, Refusal> {
        let table = match algorithms {
            Some(names) => &self.table.restricted(&names),
            None => &*self.table,
        };
        let friendliness = match friendliness {
            None if self.is_given => Friendliness::Fast,
            said => said.unwrap_or_default(),
        };
        let table = friendliness.apply(table).map_err(|error| {
            section.refuse_at("friendliness", &error.to_string(), "one that allows some of them")
        })?;
        Ok(KernelTable::new(&table).into())
    }
}

fn read_table(field: &Field) -> Result<LatencyTable, Refusal> {
    const TABLE: &str = "a latency table, such as `kirikae characterize` builds";
    let file = field.file(TABLE)?;
    let found = |found: String| Refusal { found, ..field.refuse(TABLE) };
    let text = std::fs::read_to_string(&file)
        .map_err(|error| found(format!("{} cannot be read ({error})", file.display())))?;
    LatencyTable::parse(&text).map_err(|error| found(format!("{}: {error}", file.display())))
}

fn adopt(field: &Field) -> Result<Option<Namespaces>, Refusal> {
    if field.is_list() {
        let files = field.list(NAMESPACES)?;
        let file = |each: &Field| Ok(PathBuf::from(each.text(NAMESPACES)?));
        let files = files.iter().map(file).collect::<Result<Vec<_>, _>>()?;
        return Ok(Some(Namespaces::Named(files)));
    }
    match field.text(NAMESPACES)? {
        "every" => Ok(Some(Namespaces::Every)),
        "none" => Ok(None),
        _ => Err(field.refuse(NAMESPACES)),
    }
}

fn status(field: &Field) -> Result<SeenBy, Refusal> {
    let section = field.section("a table, [status]")?;
    section.allow(&["readers", "page", "beyond-loopback"])?;
    let readers = match section.optional("readers") {
        None => Readers::Root,
        Some(field) => match field.text(READERS)? {
            "root" => Readers::Root,
            "everyone" => Readers::Everyone,
            text => match text.strip_prefix("group:") {
                Some(group) if !group.is_empty() => Readers::Group(group.into()),
                _ => return Err(field.refuse(READERS)),
            },
        },
    };
    let beyond_loopback = section.flag("beyond-loopback")?;
    let page = section.optional("page").map(|field| {
        let address: SocketAddr =
            field.text(ADDRESS)?.parse().map_err(|_| field.refuse(ADDRESS))?;
        if !address.ip().is_loopback() && !beyond_loopback {
            return Err(field.refuse(
                "an address of loopback; another with beyond-loopback = true, since whoever \
                 reaches it sees all connections",
            ));
        }
        Ok(address)
    });
    Ok(SeenBy { readers, page: page.transpose()? })
}

fn scope(
    number: usize,
    section: &Section,
    latencies: &Latencies,
    host: Host,
) -> Result<Scope, Refusal> {
    section.allow(&[
        "name",
        "cgroup",
        "local-port",
        "remote",
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
    ])?;
    let friendliness = section.optional("friendliness").map(|field| {
        Ok(Friendliness::ALL[field.choice(&Friendliness::ALL.map(Friendliness::name))?])
    });
    let algorithms = section.optional("algorithms").map(|field| algorithms(&field, latencies));
    let table =
        latencies.restricted(friendliness.transpose()?, algorithms.transpose()?, section)?;
    let matching = Matching {
        cgroups: each(section, "cgroup", |field| cgroup(field, host))?,
        local_ports: each(section, "local-port", ports)?,
        remotes: each(section, "remote", prefix)?,
    };
    let flag_or_true = |key| section.optional(key).map_or(Ok(true), |field| field.boolean());
    Ok(Scope {
        name: match section.optional("name") {
            Some(field) => name(&field)?,
            None => format!("scope {}", number + 1),
        },
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
        holdback: section.optional("holdback").map_or(Ok(0.0), |field| {
            field.number(0.0..=1.0, "a share of the connections, from 0 to 1")
        })?,
        least_rtt: section.optional("least-rtt").map_or(Ok(LEAST_RTT), |it| least_rtt(&it))?,
        hysteresis: section
            .optional("hysteresis")
            .map_or(Ok(Hysteresis::default()), |field| hysteresis(&field))?,
    })
}

/// What stands at a key: one, or a list of them.
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

/// It appears in labels and tables.
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

fn cgroup(field: &Field, host: Host) -> Result<PathBuf, Refusal> {
    let written = field.text(CGROUP)?;
    let inside = Path::new(written);
    let inside = inside.strip_prefix(host.cgroup_root).unwrap_or(inside);
    let directory = host.cgroup_root.join(inside.strip_prefix("/").unwrap_or(inside));
    // Only version 2 has this file. What is not there yet may come.
    if directory.join("cgroup.controllers").exists() || !directory.exists() {
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
