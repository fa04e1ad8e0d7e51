//! Connections whose local address is gone (`bpf/switcher/programs/stranded.bpf.c`): they can never send again, and
//! their programs would wait for a timeout of many minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use kirikae_interface::{local_address, stranded};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};
use zerocopy::{FromBytes, IntoBytes};

use super::socket_iterator::SocketIterator;
use crate::error::Error;
use crate::iterator::read;
use crate::namespaces::within;
use crate::network_changes::LocalAddress;
use crate::switcher::Switcher;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stranded.bpf.o"));

/// So long an address may be away and come back, as when a lease is renewed or an interface is moved.
const GRACE: Duration = Duration::from_secs(2);

/// An address that is gone, and the connections that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranded {
    /// The address.
    pub address: IpAddr,
    /// Inode of the network namespace that does not have it any more.
    pub namespace: u32,
    /// The index of the interface, if it was a link-local IPv6 address.
    pub interface: Option<u32>,
    /// How many connections have it.
    pub connections: u64,
    /// How many of these were destroyed, because their scope says so.
    pub destroyed: u64,
}

impl fmt::Display for Stranded {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the address {}", self.address)?;
        if let Some(interface) = self.interface {
            write!(f, " of interface {interface}")?;
        }
        write!(
            f,
            " is gone from network namespace {}; connections that have it: ",
            self.namespace
        )?;
        write!(f, "{}, destroyed: {}", self.connections, self.destroyed)
    }
}

/// Addresses that were removed lately, and the loaded iterator over connections.
pub(super) struct Removed {
    /// By their namespace, with the time since when they may be gone.
    since: BTreeMap<(u32, LocalAddress), Instant>,
    iterator: SocketIterator,
}

impl Removed {
    pub fn load(switcher: &Switcher) -> Result<Removed, Error> {
        const DOING: &str = "loading what looks for connections whose address is gone";
        let iterator = SocketIterator::load(switcher, OBJECT, "gone_addresses", DOING)?;
        Ok(Removed { since: BTreeMap::new(), iterator })
    }

    /// Notes addresses that were removed from an interface of a namespace.
    pub fn note(&mut self, namespace: u32, removed: BTreeSet<LocalAddress>) {
        let now = Instant::now();
        self.since.extend(removed.into_iter().map(|address| ((namespace, address), now)));
    }

    /// Those that have had the time to come back, by their namespace.
    pub fn due(&mut self) -> BTreeMap<u32, Vec<LocalAddress>> {
        take_due(&mut self.since, Instant::now())
    }

    /// Counts the connections that have these addresses of a namespace, but for addresses that are there, and
    /// destroys those whose scope says so. Tells of addresses that connections have.
    pub fn stranded(&self, file: &File, addresses: &[LocalAddress]) -> io::Result<Vec<Stranded>> {
        let SocketIterator { link, wanted: gone, .. } = &self.iterator;
        let inode = file.metadata()?.ino() as u32;
        let found = within(file, move || {
            let there = LocalAddress::all()?;
            let mut looked_for = Vec::new();
            for address in addresses {
                if !there.contains(address) && !address.is_routed_here()? {
                    looked_for.push(*address);
                }
            }
            let at_once = gone.max_entries() as usize;
            let found = looked_for.chunks(at_once).map(|some| look(link, gone, some));
            found.collect::<io::Result<Vec<_>>>()
        })?;
        let told = |(address, found): (LocalAddress, stranded)| Stranded {
            address: address.ip,
            namespace: inode,
            interface: (address.interface != 0).then_some(address.interface),
            connections: found.connections.into(),
            destroyed: found.destroyed.into(),
        };
        Ok(found.into_iter().flatten().map(told).collect())
    }
}

fn take_due(
    since: &mut BTreeMap<(u32, LocalAddress), Instant>,
    now: Instant,
) -> BTreeMap<u32, Vec<LocalAddress>> {
    let mut due = BTreeMap::<u32, Vec<LocalAddress>>::new();
    since.retain(|(namespace, address), since| {
        let is_due = now.duration_since(*since) >= GRACE;
        if is_due {
            due.entry(*namespace).or_default().push(*address);
        }
        !is_due
    });
    due
}

/// Looks for connections with these addresses in the namespace of the calling thread; returns the addresses that
/// some have.
fn look(
    link: &Link,
    gone: &MapHandle,
    addresses: &[LocalAddress],
) -> io::Result<Vec<(LocalAddress, stranded)>> {
    let keys: Vec<local_address> = addresses.iter().map(LocalAddress::in_kernel).collect();
    let none = stranded::default();
    let mut written =
        keys.iter().map(|key| gone.update(key.as_bytes(), none.as_bytes(), MapFlags::ANY));
    let counted = written.try_for_each(|it| it).map_err(io::Error::other).and_then(|()| read(link));
    // None is left for the next look, which is in another namespace, whatever has failed.
    let taken: Vec<_> = keys.iter().map(|key| gone.lookup_and_delete(key.as_bytes())).collect();
    counted?;
    let mut found = Vec::new();
    for (value, address) in taken.into_iter().zip(addresses) {
        let value = value.map_err(io::Error::other)?;
        let counted = value.and_then(|bytes| stranded::read_from_bytes(&bytes).ok());
        found.extend(counted.filter(|it| it.connections > 0).map(|counted| (*address, counted)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_looked_for_when_it_had_the_time_to_come_back() {
        let address = |ip: &str| LocalAddress::new(2, ip.parse().unwrap());
        let (first, second) = (address("192.0.2.1"), address("fe80::1"));
        let start = Instant::now();
        let mut since = BTreeMap::from([((7, first), start), ((8, second), start + GRACE)]);
        assert_eq!(take_due(&mut since, start + GRACE / 2), BTreeMap::new());
        assert_eq!(take_due(&mut since, start + GRACE), BTreeMap::from([(7, vec![first])]));
        assert_eq!(take_due(&mut since, start + GRACE), BTreeMap::new());
        assert_eq!(take_due(&mut since, start + 2 * GRACE), BTreeMap::from([(8, vec![second])]));
    }

    #[test]
    fn what_is_told_names_the_address_and_how_many_have_it() {
        let told = Stranded {
            address: "fe80::1".parse().unwrap(),
            namespace: 4_026_531_840,
            interface: Some(3),
            connections: 5,
            destroyed: 2,
        };
        assert_eq!(
            told.to_string(),
            "the address fe80::1 of interface 3 is gone from network namespace 4026531840; \
             connections that have it: 5, destroyed: 2"
        );
    }
}
