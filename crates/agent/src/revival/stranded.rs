//! Connections whose local address is gone (`bpf/switcher/programs/stranded.bpf.c`): they can never send again, and
//! their programs would wait for a timeout of many minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use kirikae_interface::{local_address, stranded};
use libbpf_rs::{MapCore, MapFlags};
use zerocopy::{FromBytes, IntoBytes};

use super::socket_iterator::SocketIterator;
use super::watch::Watch;
use crate::error::Error;
use crate::namespaces::within;
use crate::network_changes::{LocalAddress, ROOM};
use crate::switcher::Switcher;
use crate::walks::{Printed, Walk, Walker};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stranded.bpf.o"));

/// So long an address may be away and come back, as when a lease is renewed or an interface is moved.
const GRACE: Duration = Duration::from_secs(2);
/// So many addresses of a namespace are looked for at once.
const AT_ONCE: usize = 256;

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

/// Addresses that were removed lately from interfaces of a namespace.
#[derive(Debug, Default)]
pub(super) struct Removed {
    /// With the time since when they may be gone.
    since: BTreeMap<LocalAddress, Instant>,
}

impl Removed {
    /// Notes addresses that were removed now. Returns whether there was room for them.
    pub fn note(&mut self, removed: BTreeSet<LocalAddress>, now: Instant) -> bool {
        let fits = self.since.len() + removed.len() <= ROOM;
        if fits {
            self.since.extend(removed.into_iter().map(|address| (address, now)));
        }
        fits
    }

    /// Takes those that have had the time to come back, as many as are looked for at once.
    pub fn take_due(&mut self, now: Instant) -> Vec<LocalAddress> {
        let is_due = |since: &Instant| now.saturating_duration_since(*since) >= GRACE;
        let due = self.since.iter().filter(|(_, since)| is_due(since)).map(|(it, _)| *it);
        let due: Vec<_> = due.take(AT_ONCE).collect();
        due.iter().for_each(|address| {
            self.since.remove(address);
        });
        due
    }
}

/// The loaded iterator that looks for connections whose address is gone.
pub(super) struct Search(SocketIterator);

impl Search {
    pub fn load(switcher: &Switcher) -> Result<Search, Error> {
        const DOING: &str = "loading what looks for connections whose address is gone";
        SocketIterator::load(switcher, OBJECT, "gone_addresses", DOING).map(Search)
    }

    /// Begins to count the connections that have these addresses of a namespace, but for addresses that are there, and
    /// to destroy those whose scope says so. None: all of them are there.
    pub fn begin(
        &self,
        walker: &mut Walker,
        watch: &Watch,
        addresses: &[LocalAddress],
    ) -> io::Result<Option<(Walk, Searching)>> {
        let SocketIterator { file, wanted: gone, .. } = &self.0;
        let looked_for = within(&watch.file, || LocalAddress::gone(addresses))?;
        if looked_for.is_empty() {
            return Ok(None);
        }
        let (namespace, inode) = (watch.changes.namespace(), watch.inode);
        let searching = Searching { namespace, inode, addresses: looked_for };
        let none = stranded::default();
        let write = |key: local_address| {
            gone.update(key.as_bytes(), none.as_bytes(), MapFlags::ANY).map_err(io::Error::other)
        };
        let written = searching.keys().try_for_each(write);
        let begun = written.and_then(|()| walker.begin(file, &watch.file, inode));
        match begun {
            Ok(walk) => Ok(Some((walk, searching))),
            Err(error) => {
                drop(self.take(&searching));
                Err(error)
            }
        }
    }

    /// Tells of addresses that connections have. A walk that has not ended destroys nothing any more.
    pub fn end(
        &self,
        searching: &Searching,
        walked: io::Result<Printed>,
    ) -> io::Result<Vec<Stranded>> {
        let taken = self.take(searching);
        walked?;
        let mut told = Vec::new();
        for (found, address) in taken.into_iter().zip(&searching.addresses) {
            let found = found?.filter(|it| it.connections > 0);
            told.extend(found.map(|found| Stranded {
                address: address.ip,
                namespace: searching.inode,
                interface: (address.interface != 0).then_some(address.interface),
                connections: found.connections.into(),
                destroyed: found.destroyed.into(),
            }));
        }
        Ok(told)
    }

    /// Takes what was counted of each address; it is looked for no more.
    fn take(&self, searching: &Searching) -> Vec<io::Result<Option<stranded>>> {
        let gone = &self.0.wanted;
        let take = |key: local_address| {
            let counted = gone.lookup_and_delete(key.as_bytes()).map_err(io::Error::other)?;
            Ok(counted.and_then(|bytes| stranded::read_from_bytes(&bytes).ok()))
        };
        searching.keys().map(take).collect()
    }
}

/// Addresses of a namespace that are being looked for.
pub(super) struct Searching {
    namespace: u32,
    inode: u32,
    pub addresses: Vec<LocalAddress>,
}

impl Searching {
    fn keys(&self) -> impl Iterator<Item = local_address> {
        self.addresses.iter().map(|address| address.in_kernel(self.namespace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_looked_for_when_it_had_the_time_to_come_back() {
        let address = |ip: &str| LocalAddress::new(2, ip.parse().unwrap());
        let (first, second) = (address("192.0.2.1"), address("fe80::1"));
        let start = Instant::now();
        let mut removed = Removed::default();
        removed.note(BTreeSet::from([first]), start);
        removed.note(BTreeSet::from([second]), start + GRACE);
        assert_eq!(removed.take_due(start + GRACE / 2), []);
        assert_eq!(removed.take_due(start + GRACE), [first]);
        assert_eq!(removed.take_due(start + GRACE), []);
        assert_eq!(removed.take_due(start + 2 * GRACE), [second]);
    }

    #[test]
    fn many_addresses_are_looked_for_one_part_after_the_other() {
        let address = |n: u32| LocalAddress::new(2, std::net::Ipv4Addr::from_bits(n).into());
        let (start, most) = (Instant::now(), ROOM as u32);
        let mut removed = Removed::default();
        assert!(removed.note((0..most).map(address).collect(), start));
        assert!(!removed.note((most..=most).map(address).collect(), start));
        assert_eq!(removed.take_due(start + GRACE).len(), AT_ONCE);
        assert_eq!(removed.since.len(), ROOM - AT_ONCE);
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
