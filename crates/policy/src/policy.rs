//! The operator's policy, and the form in which the switcher reads it (`bpf/interface/policy.h`).

use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs};

use ipnet::IpNet;
use kirikae_interface as kernel;
use kirikae_interface::address;
use kirikae_table::KernelTable;
use serde::Serialize;
use zerocopy::FromZeros;

use crate::warm_start::{PATH_LIFETIME, WarmStart};

/// The largest number of scopes of a policy.
pub const SCOPES: usize = kernel::POLICY_SCOPES as usize;
/// The largest number of rules; a scope has a rule for each combination of its cgroups, port ranges and
/// prefixes.
pub const RULES: usize = kernel::POLICY_RULES as usize;

/// The usual [`Scope::least_rtt`]: a tenth of the least RTT in the latency table.
pub const LEAST_RTT: Duration = Duration::from_micros(kernel::USUAL_LEAST_RTT_US as u64);

/// The kernel's number for a margin of 1.
const MARGIN_STEPS: f64 = kernel::OCTAVE as f64;

/// Scopes in order: a connection is in the first that it matches, and one that matches none is left
/// to the kernel.
#[derive(Clone, Debug)]
pub struct Policy {
    /// 1 to [`SCOPES`] of them.
    pub scopes: Vec<Scope>,
}

/// Some connections, and what holds for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// What people call it.
    pub name: String,
    /// The connections that belong to it.
    pub matching: Matching,
    /// The table to choose by, with the algorithms that may be chosen.
    pub table: Arc<KernelTable>,
    /// What the choice minimises.
    pub objective: Objective,
    /// Measuring and switching period.
    pub period: Period,
    /// What is done with the retransmission timer.
    pub timeouts: Timeouts,
    /// Whether the window survives idle time.
    pub idle_keep: bool,
    /// Whether connections whose program has set TCP_CONGESTION itself are left alone.
    pub respect_application: bool,
    /// Whether choices are only made and reported, and nothing is changed.
    pub observed: bool,
    /// Share of the spans (0 to 1) in which connections are left as they are and measured, for comparison.
    /// Bursts are cut into spans (`bpf/switcher/core/comparison.h`).
    pub holdback: f64,
    /// Whether the agent returns to observing if held-back spans are faster than switched ones.
    pub guard: bool,
    /// A connection with a lower round-trip time is local, and keeps its algorithm: switching could gain no
    /// latency there, and would lose throughput.
    pub least_rtt: Duration,
    /// How much better another algorithm has to be.
    pub hysteresis: Hysteresis,
    /// How new connections begin whose path is known.
    pub warm_start: WarmStart,
    /// How long it is known what connections have shown of their path; zero: not at all.
    pub path_lifetime: Duration,
    /// What becomes of connections whose local address is gone.
    pub when_address_gone: WhenAddressGone,
}

/// The conditions that a connection must fulfil: it matches one entry of each list. An empty list matches
/// all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matching {
    /// Directories of the cgroup v2 hierarchy: those in one or below it.
    pub cgroups: Vec<PathBuf>,
    /// The local ports that belong to it, as ranges with both their ends.
    pub local_ports: Vec<RangeInclusive<u16>>,
    /// Prefixes of the remote address.
    pub remotes: Vec<IpNet>,
}

/// What the choice minimises.
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
        Hysteresis {
            margin: f64::from(kernel::USUAL_MARGIN) / MARGIN_STEPS,
            agreeing: kernel::USUAL_AGREEING,
            dwell: kernel::USUAL_DWELL,
        }
    }
}

/// What is done with the retransmission timer of a connection that is switched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timeouts {
    /// It is lowered and bounded as `bpf/switcher/core/timeouts.h` says.
    #[default]
    Adapted,
    /// It stays as the kernel has it.
    Kernel,
}

/// What becomes of connections whose local address is gone, so that they can never send again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenAddressGone {
    /// The operator is told of them, and they wait for their timeouts.
    #[default]
    Tell,
    /// They are destroyed, too: their programs are told at once (ECONNABORTED).
    Destroy,
}

/// A policy asks for more rules than the kernel has room for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the policy has {0} rules, one for each cgroup, port range and prefix together; there is room \
     for at most {RULES}"
)]
pub struct TooManyRules(pub usize);

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
    /// The period in the switcher's form, microseconds; 0: one round trip.
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
    /// A policy with all connections in one scope.
    pub fn one(scope: Scope) -> Policy {
        Policy { scopes: vec![scope] }
    }

    /// Every table once, in the order in which the scopes name them.
    pub fn tables(&self) -> Vec<&Arc<KernelTable>> {
        let mut tables: Vec<&Arc<KernelTable>> = Vec::new();
        for scope in &self.scopes {
            if !tables.contains(&&scope.table) {
                tables.push(&scope.table);
            }
        }
        tables
    }

    /// The cgroups that do not exist. Their connections are taken in when they do.
    pub fn missing_cgroups(&self) -> impl Iterator<Item = &Path> {
        let all = self.scopes.iter().flat_map(|scope| &scope.matching.cgroups);
        all.map(PathBuf::as_path).filter(|directory| cgroup_id(directory) == MISSING)
    }

    /// The rules, with the cgroups that exist now.
    pub fn rules(&self) -> Vec<kernel::rule> {
        let numbered = self.scopes.iter().zip(0..);
        numbered.flat_map(|(scope, number)| scope.matching.rules(number)).collect()
    }

    /// The policy in the switcher's form. Since the generation `scopes_since` its scopes have been the same. `rules` are [those of the policy](Policy::rules). The table
    /// numbered n among [`tables`](Policy::tables) is at `first_table` + n in the kernel.
    ///
    /// # Errors
    /// Fails if there are more rules than [`RULES`].
    ///
    /// # Panics
    /// Panics if there is no scope, or if there are more than [`SCOPES`].
    pub fn kernel_policy(
        &self,
        generation: u32,
        scopes_since: u32,
        first_table: u32,
        rules: &[kernel::rule],
    ) -> Result<Box<kernel::policy>, TooManyRules> {
        assert!((1..=SCOPES).contains(&self.scopes.len()), "{} scopes", self.scopes.len());
        if rules.len() > RULES {
            return Err(TooManyRules(rules.len()));
        }
        let mut kernel = kernel::policy::new_box_zeroed().expect("a few kilobytes of memory");
        let tables = self.tables();
        for (number, scope) in self.scopes.iter().enumerate() {
            let table = tables.iter().position(|table| **table == scope.table);
            kernel.scope[number] =
                scope.kernel_scope(first_table + table.expect("tables has all") as u32);
        }
        let least = kernel.scope[..self.scopes.len()].iter().map(|scope| scope.least_rtt_us).min();
        kernel.least_rtt_us = least.expect("there is a scope");
        kernel.rule[..rules.len()].copy_from_slice(rules);
        kernel.rules = rules.len() as u32;
        kernel.generation = generation;
        kernel.scopes_since = scopes_since;
        Ok(kernel)
    }
}

impl Scope {
    /// A scope of all connections, with the settings that hold if the operator says nothing.
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
            guard: true,
            least_rtt: LEAST_RTT,
            hysteresis: Hysteresis::default(),
            warm_start: WarmStart::default(),
            path_lifetime: PATH_LIFETIME,
            when_address_gone: WhenAddressGone::default(),
        }
    }

    /// The settings that differ from the usual, in words; without its name, connections and algorithms.
    pub fn unusual(&self) -> Vec<String> {
        let mut said = Vec::new();
        let mut say = |is_said: bool, what: String| said.extend(is_said.then_some(what));
        say(self.observed, "observed: nothing is changed".into());
        say(self.objective == Objective::Throughput, "objective throughput".into());
        say(self.holdback > 0.0, format!("{} % held back", self.holdback * 100.0));
        say(!self.guard, "no guard".into());
        say(!self.respect_application, "overrules applications".into());
        say(!self.idle_keep, "no idle keep".into());
        say(self.timeouts == Timeouts::Kernel, "the kernel's timeouts".into());
        say(self.least_rtt != LEAST_RTT, format!("from a round trip of {:?} on", self.least_rtt));
        say(
            self.warm_start != WarmStart::default(),
            format!("warm start {}", self.warm_start.name()),
        );
        let lifetime = self.path_lifetime;
        say(lifetime != PATH_LIFETIME, format!("paths are known for {lifetime:?}"));
        say(self.destroys(), "destroyed when their address is gone".into());
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

    /// The in-kernel names of the algorithms of ours that its connections may be given.
    pub fn algorithms(&self) -> Vec<String> {
        let named = (0..).zip(self.table.names());
        let chosen = named.filter(|(column, _)| *column != self.table.stock).map(|(_, name)| name);
        let begins = self.warm_start.algorithm().filter(|_| !self.path_lifetime.is_zero());
        chosen.chain(begins.map(String::from)).collect()
    }

    /// Whether connections are destroyed whose local address is gone.
    pub fn destroys(&self) -> bool {
        self.when_address_gone == WhenAddressGone::Destroy
    }

    fn held_back_below(&self) -> u32 {
        (self.holdback * f64::from(u32::MAX)) as u32
    }

    /// The scope in the switcher's form, with the number of its table.
    pub fn kernel_scope(&self, table: u32) -> kernel::scope {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let hysteresis = self.hysteresis;
        kernel::scope {
            flags: flag(self.observed, kernel::SCOPE_OBSERVED)
                | flag(!self.respect_application, kernel::SCOPE_OVERRULES)
                | flag(self.timeouts == Timeouts::Kernel, kernel::SCOPE_KERNEL_TIMEOUTS)
                | flag(!self.idle_keep, kernel::SCOPE_NO_IDLE_KEEP)
                | flag(self.objective == Objective::Throughput, kernel::SCOPE_THROUGHPUT)
                | flag(self.destroys(), kernel::SCOPE_DESTROYS)
                | self.warm_start.scope_flags(),
            period_us: self.period.fixed_us(),
            holdback: self.held_back_below(),
            table,
            least_rtt_us: u32::try_from(self.least_rtt.as_micros()).unwrap_or(u32::MAX),
            path_lifetime_s: u32::try_from(self.path_lifetime.as_secs()).unwrap_or(u32::MAX),
            hysteresis: kernel::hysteresis {
                margin: (hysteresis.margin * MARGIN_STEPS).round() as u32,
                agreeing: hysteresis.agreeing,
                dwell: hysteresis.dwell,
            },
        }
    }
}

/// Writes in words which connections match.
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
    /// How many rules it needs.
    pub fn combinations(&self) -> usize {
        let [cgroups, ports, remotes] =
            [self.cgroups.len(), self.local_ports.len(), self.remotes.len()].map(|len| len.max(1));
        cgroups * ports * remotes
    }

    /// A rule for each combination.
    fn rules(&self, scope: u32) -> impl Iterator<Item = kernel::rule> {
        self.parts().into_iter().map(move |part| kernel::rule {
            cgroup: part.cgroup.map_or(ANY_CGROUP, cgroup_id),
            remote: part.remote.0.into(),
            mask: mask(part.remote.1),
            first_port: *part.ports.start(),
            last_port: *part.ports.end(),
            scope,
        })
    }

    /// Each combination of a cgroup, a range of ports and a prefix.
    pub(crate) fn parts(&self) -> Vec<Part<'_>> {
        let cgroups: Vec<_> = self.cgroups.iter().map(|it| Some(it.as_path())).collect();
        let remotes: Vec<_> = self.remotes.iter().map(mapped).collect();
        let mut parts = Vec::with_capacity(self.combinations());
        for &cgroup in or(&cgroups, &[None]) {
            for ports in or(&self.local_ports, &[0..=u16::MAX]) {
                for &remote in or(&remotes, &[(Ipv6Addr::UNSPECIFIED, 0)]) {
                    parts.push(Part { cgroup, ports: ports.clone(), remote });
                }
            }
        }
        parts
    }
}

/// What one rule asks of a connection.
pub(crate) struct Part<'a> {
    /// None: it may be in any.
    pub cgroup: Option<&'a Path>,
    pub ports: RangeInclusive<u16>,
    /// A prefix, and how many bits of it count.
    pub remote: (Ipv6Addr, u32),
}

/// Whether a rule differs from the one before by its cgroup alone, which was replaced.
pub fn has_another_cgroup(rule: &kernel::rule, before: &kernel::rule) -> bool {
    rule.cgroup != MISSING && rule.cgroup != before.cgroup
}

/// The mask that keeps the first `bits` of an address.
pub(crate) fn mask(bits: u32) -> address {
    Ipv6Addr::from_bits(!u128::MAX.checked_shr(bits).unwrap_or(0)).into()
}

fn or<'a, T>(some: &'a [T], any: &'a [T]) -> &'a [T] {
    if some.is_empty() { any } else { some }
}

/// The form of a prefix in IPv6: an IPv4 one is below ::ffff:0:0.
fn mapped(prefix: &IpNet) -> (Ipv6Addr, u32) {
    match prefix.network() {
        IpAddr::V4(address) => (address.to_ipv6_mapped(), 96 + u32::from(prefix.prefix_len())),
        IpAddr::V6(address) => (address, prefix.prefix_len().into()),
    }
}

/// A rule with this number asks for no cgroup.
const ANY_CGROUP: u64 = 0;
/// A number that no cgroup has, so that no connection matches it.
const MISSING: u64 = u64::MAX;

/// The kernel's number of a cgroup: the inode of its directory. A cgroup that is replaced has another.
fn cgroup_id(directory: &Path) -> u64 {
    fs::metadata(directory).map_or(MISSING, |found| found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(matching: Matching) -> Scope {
        Scope { matching, ..Scope::new(kirikae_table::shipped().kernel_table().into()) }
    }

    fn in_kernel(
        policy: &Policy,
        generation: u32,
        first_table: u32,
    ) -> Result<Box<kernel::policy>, TooManyRules> {
        policy.kernel_policy(generation, generation, first_table, &policy.rules())
    }

    #[test]
    fn a_scope_has_a_rule_for_each_combination() {
        let matching = Matching {
            cgroups: vec!["/proc".into()],
            local_ports: vec![22..=22, 5900..=5999],
            remotes: vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
        };
        let policy = in_kernel(&Policy::one(scope(matching)), 7, 16).unwrap();
        assert_eq!((policy.generation, policy.rules), (7, 4));
        let rule = policy.rule[0];
        assert_eq!((rule.first_port, rule.last_port), (22, 22));
        assert_eq!(Ipv6Addr::from(rule.remote).to_string(), "::ffff:10.0.0.0");
        assert_eq!(Ipv6Addr::from(rule.mask).octets()[..13], [0xff; 13]);
        assert_eq!(Ipv6Addr::from(rule.mask).octets()[13..], [0; 3]);
        assert_eq!(policy.rule[3].first_port, 5900);
        assert_eq!(Ipv6Addr::from(policy.rule[3].mask).to_bits(), 0xffff_ffff << 96);
        assert_eq!(policy.scope[0].table, 16);
    }

    #[test]
    fn anything_matches_an_empty_list() {
        let policy = in_kernel(&Policy::one(scope(Matching::default())), 1, 0).unwrap();
        let rule = policy.rule[0];
        assert_eq!(
            (rule.cgroup, rule.mask, rule.first_port, rule.last_port),
            (0, address::default(), 0, u16::MAX)
        );
    }

    #[test]
    fn more_rules_than_there_is_room_for_are_refused() {
        let ports = (1..=257).map(|port| port..=port).collect();
        let matching = Matching { local_ports: ports, ..Matching::default() };
        let refused = in_kernel(&Policy::one(scope(matching)), 1, 0).unwrap_err().to_string();
        assert!(refused.contains("257 rules") && refused.contains("at most 256"), "{refused}");
    }

    #[test]
    fn equal_tables_are_kept_once() {
        let (a, mut b) = (scope(Matching::default()), scope(Matching::default()));
        let policy = Policy { scopes: vec![a.clone(), b.clone()] };
        assert_eq!(policy.tables().len(), 1);
        b.table = kirikae_table::usual().kernel_table().into();
        let policy = Policy { scopes: vec![a.clone(), b, a] };
        assert_eq!(policy.tables().len(), 2);
        let kernel = in_kernel(&policy, 1, 16).unwrap();
        assert_eq!([0, 1, 2].map(|n: usize| kernel.scope[n].table), [16, 17, 16]);
    }
}
