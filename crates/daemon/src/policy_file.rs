//! The operator's policy as a file, /etc/kirikae/kirikae.toml. packaging/kirikae.toml shows every key and
//! what it means.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use kirikae_agent::{DEFAULT_PATHS, Namespaces, PATHS};
use kirikae_policy::{Latencies, Policy, RULES, SCOPES, Scope, WHEN_ADDRESS_GONE, read_scope};
use kirikae_settings::Refusal;
use kirikae_settings::section::{Field, Section, Source};
use kirikae_table::LatencyTable;
use nix::unistd::Group;

use crate::addresses::Addresses;

const FILE: &str = "a policy file in TOML, see packaging/kirikae.toml";
const NAMESPACES: &str = r#""every", "none", or a list of files such as ["/run/netns/web"]"#;
const ADDRESS: &str = r#"an address with its port, such as "127.0.0.1:8425""#;
const NOT_DESTROYED: &str = "tell: this kernel has no bpf_sock_destroy, with which connections are destroyed \
                             (Linux 6.5 and later have it; see `kirikae support`)";
const NAMESPACE: &str =
    "the file of a network namespace that is there, such as those in /run/netns";
const GROUP: &str = "a group that this host has (`getent group` lists them)";
const READERS: &str = r#""root", "everyone", or a group such as "group:adm""#;

/// A policy file, read and checked as a whole.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    /// The policy that the kernel is given.
    pub policy: Policy,
    /// The network namespaces in which connections that are already open are taken in; None: in none.
    pub adopt: Option<Namespaces>,
    /// Who may read the status, and where it is served.
    pub status: SeenBy,
    /// How many entries the path memory has.
    pub paths: u32,
}

/// How the agent is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenBy {
    /// Who may read its status, besides root.
    pub readers: Readers,
    /// Where the web page and the metrics are served; None: nowhere.
    pub page: Option<SocketAddr>,
    /// How much of remote addresses is told.
    pub addresses: Addresses,
    /// Whether `kirikae run` prints a line for each switch.
    pub are_switches_printed: bool,
}

impl Default for SeenBy {
    fn default() -> SeenBy {
        let (readers, addresses) = (Readers::Root, Addresses::Full);
        SeenBy { readers, page: None, addresses, are_switches_printed: true }
    }
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

/// What of the host a file is checked against.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// Root of the cgroup v2 hierarchy.
    pub cgroup_root: &'a Path,
    /// Whether its kernel lets connections be destroyed.
    pub can_destroy: bool,
    /// Whether it has a group of this name.
    pub has_group: fn(&str) -> bool,
    /// Whether this file is a network namespace of it.
    pub is_namespace: fn(&Path) -> bool,
}

impl Host<'_> {
    /// The host that this runs on.
    pub fn own(cgroup_root: &Path) -> Host<'_> {
        Host {
            cgroup_root,
            can_destroy: kirikae_agent::can_destroy(),
            has_group: |name| Group::from_name(name).is_ok_and(|group| group.is_some()),
            is_namespace: kirikae_agent::is_namespace,
        }
    }
}

impl PolicyFile {
    /// Reads and checks a file, its latency table included.
    ///
    /// # Errors
    /// Fails with the first thing that is wrong: its file, line and key, and what is allowed.
    pub fn read(file: &Path, host: Host) -> Result<PolicyFile, Refusal> {
        PolicyFile::parse(&Source::read(file, FILE)?, host)
    }

    /// Reads and checks a text as [`read`](PolicyFile::read) does a file.
    ///
    /// # Errors
    /// Fails as [`read`](PolicyFile::read) does.
    pub fn parse(source: &Source, host: Host) -> Result<PolicyFile, Refusal> {
        let table = source.root()?;
        let root = Section::root(source, &table, &[]);
        root.allow(&["adopt", "table", "status", "paths", "scope"])?;
        let latencies = match root.optional("table") {
            Some(field) => Latencies { table: Cow::Owned(read_table(&field)?), is_given: true },
            None => Latencies { table: Cow::Borrowed(kirikae_table::shipped()), is_given: false },
        };
        let adopt =
            root.optional("adopt").map_or(Ok(Some(Namespaces::Every)), |it| adopt(&it, host))?;
        let status =
            root.optional("status").map_or(Ok(SeenBy::default()), |it| status(&it, host))?;
        let paths = root.optional("paths").map_or(Ok(DEFAULT_PATHS), |it| paths(&it))?;
        let scopes = match root.optional("scope") {
            Some(field) => {
                const SCOPES_ALLOWED: &str = "[[scope]], 1 to 16 of them";
                let sections = field.tables(SCOPES_ALLOWED)?;
                if sections.len() > SCOPES {
                    return Err(field.refuse(SCOPES_ALLOWED));
                }
                let scope = |(number, section): (usize, Section)| {
                    let name = format!("scope {}", number + 1);
                    let scope = read_scope(&section, name, &latencies, host.cgroup_root)?;
                    if scope.destroys() && !host.can_destroy {
                        return Err(section.refuse_at(
                            WHEN_ADDRESS_GONE,
                            "found 'destroy'",
                            NOT_DESTROYED,
                        ));
                    }
                    Ok(scope)
                };
                sections.into_iter().enumerate().map(scope).collect::<Result<Vec<_>, _>>()?
            }
            None => {
                let friendliness = latencies.friendliness(None);
                let table = latencies.restricted(friendliness, None, &root)?;
                vec![Scope { warm_start: friendliness.into(), ..Scope::new(table) }]
            }
        };
        if let Some(error) = scopes.iter().find_map(|scope| kirikae_agent::candidates(scope).err())
        {
            return Err(root.refuse_at("table", &error.to_string(), "one with algorithms of ours"));
        }
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
        Ok(PolicyFile { policy: Policy { scopes }, adopt, status, paths })
    }
}

fn read_table(field: &Field) -> Result<LatencyTable, Refusal> {
    const TABLE: &str = "a latency table, such as `kirikae-lab characterize` builds";
    let file = field.file(TABLE)?;
    let found = |found: String| Refusal { found, ..field.refuse(TABLE) };
    let text = std::fs::read_to_string(&file)
        .map_err(|error| found(format!("{} cannot be read ({error})", file.display())))?;
    LatencyTable::parse(&text).map_err(|error| found(format!("{}: {error}", file.display())))
}

fn adopt(field: &Field, host: Host) -> Result<Option<Namespaces>, Refusal> {
    if field.is_list() {
        let files = field.list(NAMESPACES)?;
        let file = |each: &Field| {
            let file = PathBuf::from(each.text(NAMESPACES)?);
            if (host.is_namespace)(&file) { Ok(file) } else { Err(each.refuse(NAMESPACE)) }
        };
        let files = files.iter().map(file).collect::<Result<Vec<_>, _>>()?;
        return Ok(Some(Namespaces::Named(files)));
    }
    match field.text(NAMESPACES)? {
        "every" => Ok(Some(Namespaces::Every)),
        "none" => Ok(None),
        _ => Err(field.refuse(NAMESPACES)),
    }
}

fn paths(field: &Field) -> Result<u32, Refusal> {
    let section = field.section("a table, [paths]")?;
    section.allow(&["entries"])?;
    let range = u64::from(*PATHS.start())..=u64::from(*PATHS.end());
    let entries = section.optional("entries").map(|entries| entries.whole(range)).transpose()?;
    Ok(entries.map_or(DEFAULT_PATHS, |entries| entries as u32))
}

fn status(field: &Field, host: Host) -> Result<SeenBy, Refusal> {
    let section = field.section("a table, [status]")?;
    section.allow(&["readers", "page", "beyond-loopback", "addresses", "print"])?;
    let readers = match section.optional("readers") {
        None => Readers::Root,
        Some(field) => match field.text(READERS)? {
            "root" => Readers::Root,
            "everyone" => Readers::Everyone,
            text => match text.strip_prefix("group:") {
                Some(group) if (host.has_group)(group) => Readers::Group(group.into()),
                Some(_) => return Err(field.refuse(GROUP)),
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
    const ADDRESSES: [(&str, Addresses); 3] =
        [("full", Addresses::Full), ("prefix", Addresses::Prefix), ("none", Addresses::None)];
    let (_, addresses) =
        ADDRESSES[section.choice_or_first("addresses", &ADDRESSES.map(|(word, _)| word))?];
    let are_switches_printed = section.choice_or_first("print", &["switches", "nothing"])? == 0;
    Ok(SeenBy { readers, page: page.transpose()?, addresses, are_switches_printed })
}
