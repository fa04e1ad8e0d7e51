//! What is known of paths, as people and other agents read it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use kirikae_algorithms::path_network;
use kirikae_interface::{
    PATH_IPV4, PATH_NAT64, PATH_NO_COLUMN, PATH_NO_EXCESS, path_entry, path_key, path_outcome,
    rate_bit_s,
};
use kirikae_policy::Policy;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The kernel's unit of [`KnownOutcome::excess_octaves`] is an octave over this.
const EXCESS_OCTAVE: f64 = 256.0;
/// Behind 64:ff9b::/96 there are IPv4 addresses (RFC 6052).
const NAT64: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
/// The bits of an IPv6 address that are one network to the kernel.
const IPV6_BITS: u8 = 64;

/// What the connections to a remote network over an interface have shown of the path to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownPath {
    /// An IPv4 address, one behind 64:ff9b::/96, or the /64 of another IPv6 address.
    pub remote: IpNet,
    /// The network namespace, by the low 32 bits of its cookie (`SO_NETNS_COOKIE`).
    pub namespace: u32,
    /// The interface over which packets leave, by its index; 0: it is not known.
    pub interface: u32,
    /// How long ago a connection has told of it, seconds.
    pub age_s: u32,
    /// The lowest round-trip time, microseconds.
    pub rtt_us: u32,
    /// The usual (smoothed) round-trip time, microseconds.
    pub usual_rtt_us: u32,
    /// The rate at which it delivered; None: that is not known.
    pub rate_bit_s: Option<u64>,
    /// The most bytes that were ACKed within a round trip.
    pub round_bytes: u32,
    /// The bytes that applications usually write at once.
    pub burst_bytes: u32,
    /// What was delivered, in KiB, since there was congestion when the entry was used last.
    pub delivered_kib: u32,
    /// Segments that the losses are of.
    pub sent: u32,
    /// Isolated losses among them.
    pub isolated_losses: u16,
    /// Burst losses among them.
    pub burst_losses: u16,
    /// Connections that began with what is known.
    pub uses: u16,
    /// What bursts took with the algorithm that was in use last, and then with another; neither needs to be known.
    pub outcomes: Vec<KnownOutcome>,
}

/// What bursts took with an algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownOutcome {
    /// The algorithm.
    pub algorithm: String,
    /// How much longer than predicted bursts took, as a binary logarithm; None: that is not known.
    pub excess_octaves: Option<f64>,
}

impl KnownPath {
    /// The bytes that the path carries in a round trip.
    pub fn carried_bytes(&self) -> u64 {
        self.rate_bit_s.map_or(u64::from(self.round_bytes), |rate| {
            u128::from(rate).saturating_mul(self.rtt_us.into()).div_euclid(8_000_000) as u64
        })
    }
}

/// Some of the paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathFilter {
    /// Paths to a network that has addresses in common with this one; None: to any.
    pub remote: Option<IpNet>,
    /// Paths in this network namespace; None: in any.
    pub namespace: Option<u32>,
    /// Paths over this interface; None: over any.
    pub interface: Option<u32>,
}

impl PathFilter {
    /// Whether a path is one of them.
    pub fn has(&self, path: &KnownPath) -> bool {
        self.has_remote(path.remote)
            && self.namespace.is_none_or(|it| it == path.namespace)
            && self.interface.is_none_or(|it| it == path.interface)
    }

    pub(crate) fn has_remote(&self, remote: IpNet) -> bool {
        self.remote.is_none_or(|it| it.contains(&remote) || remote.contains(&it))
    }
}

/// The columns of the latency tables, by which the kernel names algorithms.
pub(crate) struct Columns {
    /// The name of each column that means the same in all scopes.
    names: Vec<Option<String>>,
    /// What the kernel keeps of the generation since which the scopes are the same.
    since: u8,
}

impl Columns {
    /// Those of a policy whose scopes have been the same since that generation.
    pub fn of(policy: &Policy, since: u32) -> Columns {
        let mut scopes = policy.scopes.iter().map(|scope| scope.table.names());
        let first = scopes.next().unwrap_or_default();
        let mut names: Vec<Option<String>> = first.into_iter().map(Some).collect();
        for scope in scopes {
            for (column, name) in names.iter_mut().enumerate() {
                name.take_if(|name| scope.get(column) != Some(name));
            }
        }
        Columns { names, since: since as u8 }
    }

    fn known(&self, outcome: &path_outcome) -> Option<KnownOutcome> {
        let column = (outcome.scopes == self.since).then_some(usize::from(outcome.column))?;
        let excess = i32::from(outcome.excess);
        Some(KnownOutcome {
            algorithm: self.names.get(column)?.clone()?,
            excess_octaves: (excess != PATH_NO_EXCESS).then(|| f64::from(excess) / EXCESS_OCTAVE),
        })
    }

    fn outcome(&self, known: Option<&KnownOutcome>) -> path_outcome {
        let name = known.map(|known| &known.algorithm);
        let column = self.names.iter().position(|it| it.is_some() && it.as_ref() == name);
        let excess = known.and_then(|known| known.excess_octaves);
        path_outcome {
            excess: excess.map_or(PATH_NO_EXCESS as i16, |it| (it * EXCESS_OCTAVE) as i16),
            column: column.map_or(PATH_NO_COLUMN as u8, |column| column as u8),
            scopes: self.since,
        }
    }
}

/// The age of entries by CLOCK_BOOTTIME, of which they have the low 32 bits of the seconds.
pub(crate) struct Age {
    now_s: u32,
}

impl Age {
    pub fn now() -> Age {
        let now = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("every kernel has it");
        Age { now_s: now.tv_sec() as u32 }
    }

    /// An entry that was written after the clock was read has no age yet.
    fn of(&self, entry: &path_entry) -> u32 {
        u32::try_from(self.now_s.wrapping_sub(entry.written_s).cast_signed()).unwrap_or(0)
    }
}

pub(crate) fn known_path(entry: &path_entry, age: &Age, columns: &Columns) -> KnownPath {
    KnownPath {
        remote: remote(entry.key.network),
        namespace: entry.key.namespace,
        interface: entry.key.interface,
        age_s: age.of(entry),
        rtt_us: entry.rtt_us,
        usual_rtt_us: entry.usual_rtt_us,
        rate_bit_s: rate_bit_s(entry.rate),
        round_bytes: entry.round_bytes,
        burst_bytes: entry.burst,
        delivered_kib: entry.delivered_kb,
        sent: u32::from(entry.sent_tens) * 10,
        isolated_losses: entry.isolated,
        burst_losses: entry.bursts,
        uses: entry.uses,
        outcomes: entry.outcome.iter().filter_map(|outcome| columns.known(outcome)).collect(),
    }
}

pub(crate) fn entry(path: &KnownPath, age: &Age, columns: &Columns) -> path_entry {
    path_entry {
        key: key(path),
        written_s: age.now_s.wrapping_sub(path.age_s),
        rtt_us: path.rtt_us,
        usual_rtt_us: path.usual_rtt_us,
        rate: path.rate_bit_s.map_or(0, |rate| u32::try_from(rate / 8000).unwrap_or(u32::MAX)),
        round_bytes: path.round_bytes,
        burst: path.burst_bytes,
        delivered_kb: path.delivered_kib,
        sent_tens: u16::try_from(path.sent / 10).unwrap_or(u16::MAX),
        isolated: path.isolated_losses,
        bursts: path.burst_losses,
        uses: path.uses,
        outcome: [0, 1].map(|number| columns.outcome(path.outcomes.get(number))),
        ..path_entry::default()
    }
}

pub(crate) fn key(path: &KnownPath) -> path_key {
    // Of one that has no network nothing is remembered.
    let network = path_network(path.remote.network()).unwrap_or(0);
    path_key { network, namespace: path.namespace, interface: path.interface }
}

fn remote(network: u64) -> IpNet {
    let ipv4 = network as u32;
    match (network >> 32) as u32 {
        PATH_IPV4 => Ipv4Net::from(Ipv4Addr::from(ipv4)).into(),
        PATH_NAT64 => Ipv6Net::from(Ipv6Addr::from(u128::from(NAT64) | u128::from(ipv4))).into(),
        _ => {
            let address = Ipv6Addr::from(u128::from(network) << IPV6_BITS);
            Ipv6Net::new_assert(address, IPV6_BITS).into()
        }
    }
}

/// The network of an address, as paths are told apart; None: nothing is kept of the path there.
pub fn network_of(address: IpAddr) -> Option<IpNet> {
    path_network(address).map(remote)
}

#[cfg(test)]
mod tests {
    use kirikae_policy::Scope;

    use super::*;

    fn columns() -> Columns {
        let table = kirikae_table::shipped().kernel_table();
        Columns::of(&Policy::one(Scope::new(table.into())), 300)
    }

    fn path(remote: &str) -> KnownPath {
        let outcome = |algorithm: &str, excess_octaves| KnownOutcome {
            algorithm: algorithm.into(),
            excess_octaves,
        };
        KnownPath {
            remote: remote.parse().unwrap(),
            namespace: 7,
            interface: 3,
            age_s: 100,
            rtt_us: 20_000,
            usual_rtt_us: 25_000,
            rate_bit_s: Some(8_000_000),
            round_bytes: 14_000,
            burst_bytes: 6000,
            delivered_kib: 900,
            sent: 1200,
            isolated_losses: 3,
            burst_losses: 1,
            uses: 5,
            outcomes: vec![outcome("kk_bbr", Some(-0.5)), outcome("kk_cubic", None)],
        }
    }

    #[test]
    fn paths_come_back() {
        let (age, columns) = (Age { now_s: 40 }, columns());
        for remote in [
            "192.0.2.7/32",
            "2001:db8:1:2::/64",
            "0.0.0.1/32",
            "fe80::/64",
            "64:ff9b::c000:207/128",
        ] {
            let path = path(remote);
            let entry = entry(&path, &age, &columns);
            assert_eq!(entry.written_s, 40u32.wrapping_sub(100), "before the host was started");
            assert_eq!(known_path(&entry, &age, &columns), path);
        }
        assert_eq!(path("192.0.2.7/32").carried_bytes(), 20_000, "1 MB/s for 20 ms");
    }

    #[test]
    fn a_network_is_what_tells_one_path_from_another() {
        let network = |address: &str| network_of(address.parse().unwrap()).map(|it| it.to_string());
        for (address, expected) in [
            ("192.0.2.7", Some("192.0.2.7/32")),
            ("::ffff:192.0.2.7", Some("192.0.2.7/32")),
            ("2001:db8:1:2::3", Some("2001:db8:1:2::/64")),
            ("64:ff9b::192.0.2.7", Some("64:ff9b::c000:207/128")),
            ("64:ff9b:1::192.0.2.7", None),
            ("2001::1", None),
            ("2002:c000:207::1", None),
            ("::1", None),
        ] {
            assert_eq!(network(address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn columns_of_another_policy_mean_nothing() {
        let (age, columns) = (Age { now_s: 1000 }, columns());
        let entry = entry(&path("192.0.2.7/32"), &age, &columns);
        let later = Columns { since: columns.since + 1, ..columns };
        assert_eq!(known_path(&entry, &age, &later).outcomes, []);
    }

    #[test]
    fn a_column_with_two_names_has_none() {
        let one = Scope::new(kirikae_table::shipped().kernel_table().into());
        let mut other = one.clone();
        std::sync::Arc::make_mut(&mut other.table).name[0] = *b"another\0\0\0\0\0\0\0\0\0";
        let columns = Columns::of(&Policy { scopes: vec![one, other] }, 1);
        assert_eq!(columns.names[0], None);
        assert!(columns.names[1].is_some());
    }

    #[test]
    fn a_filter_has_what_overlaps() {
        let filter = |remote: &str| PathFilter {
            remote: Some(remote.parse().unwrap()),
            ..PathFilter::default()
        };
        assert!(filter("192.0.2.0/24").has(&path("192.0.2.7/32")));
        assert!(!filter("192.0.3.0/24").has(&path("192.0.2.7/32")));
        assert!(!filter("::/0").has(&path("192.0.2.7/32")));
        assert!(filter("2001:db8::5/128").has(&path("2001:db8::/64")), "it is in the network");
        assert!(PathFilter::default().has(&path("fe80::/64")));
        let other = PathFilter { interface: Some(4), ..PathFilter::default() };
        assert!(!other.has(&path("fe80::/64")));
    }
}
