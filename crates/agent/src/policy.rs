//! The operator's policy: which connections are switched, and how. The kernel reads it as `struct
//! policy` of `bpf/switcher/policy.h`.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs};

use ipnet::IpNet;
use kirikae_algorithms::Timeouts;
use kirikae_table::KernelTable;
use zerocopy::{FromZeros, Immutable, IntoBytes};

use crate::error::Error;

/// Most scopes of a policy.
pub const SCOPES: usize = 16;
/// Most rules: of each scope, cgroups times port ranges times prefixes.
pub const RULES: usize = 256;

/// A tenth of where the latency table begins.
pub const LEAST_RTT: Duration = Duration::from_millis(1);

const OBSERVED: u32 = 1;
const OVERRULES: u32 = 2;
const KERNEL_TIMEOUTS: u32 = 4;
const NO_IDLE_KEEP: u32 = 8;
const THROUGHPUT: u32 = 16;

/// Scopes in order: a connection is in the first that it matches, and one that matches none is left
/// to the kernel.
#[derive(Clone, Debug)]
pub struct Policy {
    /// 1 to [`SCOPES`] of them.
    pub scopes: Vec<Scope>,
}

/// Some connections, and what holds for them.
#[derive(Clone, Debug)]
pub struct Scope {
    /// What people call it.
    pub name: String,
    /// Which connections.
    pub matching: Matching,
    /// What to choose by, with the algorithms that may be chosen.
    pub table: Arc<KernelTable>,
    /// What the choice is to make small.
    pub objective: Objective,
    /// Measuring and switching period.
    pub period: Period,
    /// What becomes of the retransmission timer.
    pub timeouts: Timeouts,
    /// Whether the window survives idle time.
    pub idle_keep: bool,
    /// Whether connections whose program has set TCP_CONGESTION itself are left alone.
    pub respect_application: bool,
    /// Whether choices are only made and reported, and nothing is changed.
    pub observed: bool,
    /// Share of connections (0 to 1) that are left as they are and measured, for comparison.
    pub holdback: f64,
    /// Round trips below it are local: a connection that has them keeps the algorithm that it has. No
    /// latency is to be gained there, and throughput to be lost.
    pub least_rtt: Duration,
    /// How much better another algorithm has to be.
    pub hysteresis: Hysteresis,
}

/// What a connection must be to match; of each list one entry, and anything where it is empty.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    /// Directories of the cgroup v2 hierarchy: those in one or below it.
    pub cgroups: Vec<PathBuf>,
    /// Local ports.
    pub local_ports: Vec<RangeInclusive<u16>>,
    /// Prefixes of the remote address.
    pub remotes: Vec<IpNet>,
}

/// What the choice is to make small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The time that a burst of the size seen takes.
    #[default]
    Latency,
    /// The time that bulk takes, whatever the bursts are.
    Throughput,
}

/// How much better another algorithm has to be than the one in use, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hysteresis {
    /// Share of the latency that it has to save (0 to 1).
    pub margin: f64,
    /// Choices in a row that have to agree.
    pub agreeing: u32,
    /// Choices that an algorithm is given before it is left.
    pub dwell: u32,
}

impl Default for Hysteresis {
    fn default() -> Hysteresis {
        Hysteresis { margin: 1.0 / 32.0, agreeing: 2, dwell: 4 }
    }
}

/// How long losses and segments are counted before the rates are updated and a choice is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// One smoothed round trip, at least 50 ms.
    #[default]
    RoundTrip,
    /// A fixed time of at least 1 ms; the thesis uses 200 ms.
    Fixed(Duration),
}

impl Period {
    /// As the switcher takes it, microseconds; 0: one round trip.
    pub fn fixed_us(self) -> u32 {
        match self {
            Period::RoundTrip => 0,
            Period::Fixed(period) => {
                u32::try_from(period.as_micros()).unwrap_or(u32::MAX).max(1000)
            }
        }
    }
}

impl Policy {
    /// All connections alike.
    pub fn one(scope: Scope) -> Policy {
        Policy { scopes: vec![scope] }
    }

    /// Every table once, in the order in which the scopes name them.
    pub(crate) fn tables(&self) -> Vec<&Arc<KernelTable>> {
        let mut tables: Vec<&Arc<KernelTable>> = Vec::new();
        for scope in &self.scopes {
            if !tables.contains(&&scope.table) {
                tables.push(&scope.table);
            }
        }
        tables
    }

    /// The cgroups that are not there. Their connections are taken in when they are.
    pub fn missing_cgroups(&self) -> impl Iterator<Item = &Path> {
        let all = self.scopes.iter().flat_map(|scope| &scope.matching.cgroups);
        all.map(PathBuf::as_path).filter(|directory| cgroup_id(directory) == MISSING)
    }

    /// The rules with the cgroups that there are now.
    pub(crate) fn rules(&self) -> Vec<KernelRule> {
        let numbered = self.scopes.iter().zip(0..);
        numbered.flat_map(|(scope, number)| scope.matching.rules(number)).collect()
    }

    /// The kernel's form; the table numbered n among [`tables`](Policy::tables) lies at
    /// `first_table` + n.
    ///
    /// # Errors
    /// No scope, or more than there is room for.
    pub(crate) fn kernel_policy(
        &self,
        generation: u32,
        scopes_since: u32,
        first_table: u32,
        rules: &[KernelRule],
    ) -> Result<Box<KernelPolicy>, Error> {
        let mut kernel = KernelPolicy::new_box_zeroed().expect("a few kilobytes of memory");
        if self.scopes.is_empty() || self.scopes.len() > SCOPES || rules.len() > RULES {
            return Err(Error::Failed {
                doing: "reading the policy".into(),
                cause: format!(
                    "{} scopes with {} rules (each cgroup with each port range and each prefix); \
                     allowed: 1 to {SCOPES} scopes and at most {RULES} rules",
                    self.scopes.len(),
                    rules.len()
                ),
            });
        }
        let tables = self.tables();
        for (kernel, scope) in kernel.scope.iter_mut().zip(&self.scopes) {
            let table = tables.iter().position(|table| **table == scope.table);
            *kernel = scope.kernel_scope(first_table + table.expect("tables has all") as u32);
        }
        kernel.rule[..rules.len()].copy_from_slice(rules);
        kernel.rules = rules.len() as u32;
        kernel.generation = generation;
        kernel.scopes_since = scopes_since;
        Ok(kernel)
    }
}

impl Scope {
    /// All connections, and what holds where the operator says nothing.
    pub fn new(table: Arc<KernelTable>) -> Scope {
        Scope {
            name: "all".into(),
            matching: Matching::default(),
            table,
            objective: Objective::default(),
            period: Period::default(),
            timeouts: Timeouts::Adapted,
            idle_keep: true,
            respect_application: true,
            observed: false,
            holdback: 0.0,
            least_rtt: LEAST_RTT,
            hysteresis: Hysteresis::default(),
        }
    }

    /// What it says that is not said by saying nothing, in words; not its name, its connections and
    /// its algorithms.
    pub fn unusual(&self) -> Vec<String> {
        let mut said = Vec::new();
        let mut say = |is_said: bool, what: String| said.extend(is_said.then_some(what));
        say(self.observed, "observed: nothing is changed".into());
        say(self.objective == Objective::Throughput, "objective throughput".into());
        say(self.holdback > 0.0, format!("{} % held back", self.holdback * 100.0));
        say(!self.respect_application, "overrules applications".into());
        say(!self.idle_keep, "no idle keep".into());
        say(self.timeouts == Timeouts::Kernel, "the kernel's timeouts".into());
        say(self.least_rtt != LEAST_RTT, format!("from a round trip of {:?} on", self.least_rtt));
        if let Period::Fixed(period) = self.period {
            say(true, format!("period {period:?}"));
        }
        let Hysteresis { margin, agreeing, dwell } = self.hysteresis;
        say(
            self.hysteresis != Hysteresis::default(),
            format!("margin {margin}, {agreeing} choices agreeing, dwell {dwell}"),
        );
        said
    }

    /// Whether a connection that drew this lot is held back.
    pub(crate) fn holds_back(&self, lot: u32) -> bool {
        lot < self.held_back_below()
    }

    fn held_back_below(&self) -> u32 {
        (self.holdback * f64::from(u32::MAX)) as u32
    }

    fn kernel_scope(&self, table: u32) -> KernelScope {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let hysteresis = self.hysteresis;
        KernelScope {
            flags: flag(self.observed, OBSERVED)
                | flag(!self.respect_application, OVERRULES)
                | flag(self.timeouts == Timeouts::Kernel, KERNEL_TIMEOUTS)
                | flag(!self.idle_keep, NO_IDLE_KEEP)
                | flag(self.objective == Objective::Throughput, THROUGHPUT),
            period_us: self.period.fixed_us(),
            holdback: self.held_back_below(),
            table,
            least_rtt_us: u32::try_from(self.least_rtt.as_micros()).unwrap_or(u32::MAX),
            margin: (hysteresis.margin * 256.0).round() as u32,
            agreeing: hysteresis.agreeing,
            dwell: hysteresis.dwell,
        }
    }
}

/// In words.
impl fmt::Display for Matching {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fn list<T>(what: &str, entries: &[T], text: impl Fn(&T) -> String) -> Option<String> {
            let entries: Vec<String> = entries.iter().map(text).collect();
            (!entries.is_empty()).then(|| format!("{what} {}", entries.join(" or ")))
        }
        let ports = |range: &RangeInclusive<u16>| match (range.start(), range.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first} to {last}"),
        };
        let parts = [
            list("cgroup", &self.cgroups, |it| it.display().to_string()),
            list("local port", &self.local_ports, ports),
            list("remote", &self.remotes, IpNet::to_string),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(if parts.is_empty() { "every connection" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

impl Matching {
    /// How many rules it takes.
    pub fn combinations(&self) -> usize {
        let [cgroups, ports, remotes] =
            [self.cgroups.len(), self.local_ports.len(), self.remotes.len()].map(|len| len.max(1));
        cgroups * ports * remotes
    }

    /// One for each combination.
    fn rules(&self, scope: u32) -> Vec<KernelRule> {
        let any_cgroup = [0];
        let any_port = [0..=u16::MAX];
        let any_remote = [("::".parse().expect("an address"), 0)];
        let cgroups: Vec<u64> = self.cgroups.iter().map(|it| cgroup_id(it)).collect();
        let remotes: Vec<_> = self.remotes.iter().map(mapped).collect();
        let mut rules = Vec::new();
        for &cgroup in or(&cgroups, &any_cgroup) {
            for ports in or(&self.local_ports, &any_port) {
                for &(remote, bits) in or(&remotes, &any_remote) {
                    rules.push(KernelRule {
                        cgroup,
                        remote: remote.octets(),
                        mask: (!u128::MAX.checked_shr(bits).unwrap_or(0)).to_be_bytes(),
                        first_port: *ports.start(),
                        last_port: *ports.end(),
                        scope,
                    });
                }
            }
        }
        rules
    }
}

impl KernelRule {
    /// Whether it is this one for a cgroup that was made anew.
    pub(crate) fn has_another_cgroup_than(&self, before: &KernelRule) -> bool {
        self.cgroup != MISSING && self.cgroup != before.cgroup
    }
}

fn or<'a, T>(some: &'a [T], any: &'a [T]) -> &'a [T] {
    if some.is_empty() { any } else { some }
}

/// An IPv4 prefix as IPv6 has it, ::ffff:a.b.c.d.
fn mapped(prefix: &IpNet) -> (std::net::Ipv6Addr, u32) {
    match prefix.network() {
        IpAddr::V4(address) => (address.to_ipv6_mapped(), 96 + u32::from(prefix.prefix_len())),
        IpAddr::V6(address) => (address, prefix.prefix_len().into()),
    }
}

/// No cgroup has it, and no connection is in it.
const MISSING: u64 = u64::MAX;

/// The kernel's number of a cgroup is the inode of its directory. One that is made anew has another.
fn cgroup_id(directory: &Path) -> u64 {
    fs::metadata(directory).map_or(MISSING, |found| found.ino())
}

/// `struct scope`; the fields are described there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromZeros, IntoBytes, Immutable)]
struct KernelScope {
    flags: u32,
    period_us: u32,
    holdback: u32,
    table: u32,
    least_rtt_us: u32,
    margin: u32,
    agreeing: u32,
    dwell: u32,
}

/// `struct rule`.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromZeros, IntoBytes, Immutable)]
pub(crate) struct KernelRule {
    cgroup: u64,
    remote: [u8; 16],
    mask: [u8; 16],
    first_port: u16,
    last_port: u16,
    scope: u32,
}

/// `struct policy`.
#[repr(C)]
#[derive(Clone, Debug, FromZeros, IntoBytes, Immutable)]
pub(crate) struct KernelPolicy {
    generation: u32,
    scopes_since: u32,
    rules: u32,
    scope: [KernelScope; SCOPES],
    _padding: u32,
    rule: [KernelRule; RULES],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(matching: Matching) -> Scope {
        Scope { matching, ..Scope::new(KernelTable::new(kirikae_table::shipped()).into()) }
    }

    fn kernel(
        policy: &Policy,
        generation: u32,
        first_table: u32,
    ) -> Result<Box<KernelPolicy>, Error> {
        policy.kernel_policy(generation, generation, first_table, &policy.rules())
    }

    #[test]
    fn a_scope_has_a_rule_for_each_combination() {
        let matching = Matching {
            cgroups: vec!["/proc".into()],
            local_ports: vec![22..=22, 5900..=5999],
            remotes: vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
        };
        let policy = kernel(&Policy::one(scope(matching)), 7, 16).unwrap();
        assert_eq!((policy.generation, policy.rules), (7, 4));
        let rule = policy.rule[0];
        assert_eq!((rule.first_port, rule.last_port), (22, 22));
        assert_eq!(rule.remote[10..], [0xff, 0xff, 10, 0, 0, 0]);
        assert_eq!(rule.mask[..13], [0xff; 13]);
        assert_eq!(rule.mask[13..], [0; 3]);
        assert_eq!(policy.rule[3].first_port, 5900);
        assert_eq!(policy.rule[3].mask, u128::to_be_bytes(0xffff_ffff << 96));
        assert_eq!(policy.scope[0].table, 16);
    }

    #[test]
    fn anything_matches_an_empty_list() {
        let policy = kernel(&Policy::one(scope(Matching::default())), 1, 0).unwrap();
        let rule = policy.rule[0];
        assert_eq!(
            (rule.cgroup, rule.mask, rule.first_port, rule.last_port),
            (0, [0; 16], 0, u16::MAX)
        );
    }

    #[test]
    fn more_rules_than_there_is_room_for_are_refused() {
        let ports = (1..=257).map(|port| port..=port).collect();
        let matching = Matching { local_ports: ports, ..Matching::default() };
        let refused = kernel(&Policy::one(scope(matching)), 1, 0).unwrap_err().to_string();
        assert!(refused.contains("257 rules") && refused.contains("at most 256"), "{refused}");
    }

    #[test]
    fn equal_tables_are_kept_once() {
        let (a, mut b) = (scope(Matching::default()), scope(Matching::default()));
        let policy = Policy { scopes: vec![a.clone(), b.clone()] };
        assert_eq!(policy.tables().len(), 1);
        b.table = KernelTable::new(kirikae_table::usual()).into();
        let policy = Policy { scopes: vec![a.clone(), b, a] };
        assert_eq!(policy.tables().len(), 2);
        let kernel = kernel(&policy, 1, 16).unwrap();
        assert_eq!([0, 1, 2].map(|n: usize| kernel.scope[n].table), [16, 17, 16]);
    }
}
