//! Which paths a message of the kernel concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use nix::libc::{RTN_BLACKHOLE, RTN_UNICAST, RTN_UNREACHABLE};

use super::LocalAddress;
use super::message::{Address, Link, Message, Route, messages};
use crate::paths::PathFilter;

/// The interfaces of a network namespace, as far as the kernel has told of them. It tells the same again, as with each
/// router advertisement.
#[derive(Debug)]
pub struct Network {
    /// By their indices.
    pub(super) interfaces: BTreeMap<u32, Interface>,
    /// The addresses, with the index of their interface.
    pub(super) addresses: BTreeSet<(IpAddr, u32)>,
    /// Addresses that were taken from an interface since the last look.
    pub(super) removed: BTreeSet<LocalAddress>,
    /// So many of each are known at most.
    room: usize,
    is_full: bool,
}

/// What is known of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    /// Whether it can send.
    pub is_running: bool,
    /// How often its carrier has come. The kernel tells of a carrier that goes up to a second late, and then of one
    /// that has come back as if nothing had been. None: that is not known yet.
    pub carriers: Option<u32>,
}

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The paths that are others now, in whichever network namespace it is.
    pub paths: PathFilter,
    /// Whether they may carry again, and did not.
    pub may_be_back: bool,
    /// Whether it is that an interface has a carrier again.
    pub is_carrier: bool,
}

impl Network {
    /// Nothing is known of it yet, and of so many interfaces, addresses and addresses that were removed will be at most.
    pub fn with_room(room: usize) -> Network {
        let (interfaces, addresses, removed) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Network { interfaces, addresses, removed, room, is_full: false }
    }

    /// Whether there was more than there is room for.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// How many interfaces, addresses, and addresses that were removed are known.
    pub fn known(&self) -> (usize, usize, usize) {
        (self.interfaces.len(), self.addresses.len(), self.removed.len())
    }

    /// What has changed by the messages in what was received at once; nothing if they tell what is known.
    pub fn hear(&mut self, received: &[u8]) -> impl Iterator<Item = Change> {
        messages(received).flat_map(|message| self.changes(message))
    }

    fn changes(&mut self, message: Message) -> Vec<Change> {
        match message {
            Message::NewLink(link) if self.has_turned(link) => {
                let turned = over(link.index, link.is_running);
                vec![Change { is_carrier: link.is_running, ..turned }]
            }
            Message::NewLink(_) => Vec::new(),
            Message::DelLink(link) => {
                self.interfaces.remove(&link.index);
                let gone = self.addresses.iter().filter(|(_, index)| *index == link.index);
                for address in gone.copied().collect::<Vec<_>>() {
                    self.addresses.remove(&address);
                    self.note_removed(address);
                }
                vec![over(link.index, false)]
            }
            // One for which there is no room is new each time that it is told.
            Message::NewAddress(Address { index, ip }) => {
                if self.note_address(index, ip) {
                    vec![over(index, true)]
                } else {
                    Vec::new()
                }
            }
            Message::DelAddress(Address { index, ip }) => {
                // One of which nothing is known may have come with messages that were lost.
                self.note_removed((ip, index));
                let was_known = self.addresses.remove(&(ip, index)) || self.is_full;
                if was_known { vec![over(index, false)] } else { Vec::new() }
            }
            Message::Route(route) => along(&route),
        }
    }

    /// Whether an interface has the address.
    pub(super) fn has_address(&self, ip: IpAddr) -> bool {
        self.addresses.range((ip, 0)..=(ip, u32::MAX)).next().is_some()
    }

    /// Notes every address as one that may be removed: messages were lost.
    pub(super) fn any_may_be_removed(&mut self) {
        let all = std::mem::take(&mut self.addresses);
        all.iter().for_each(|address| self.note_removed(*address));
        self.addresses = all;
    }

    /// Notes an interface. Returns what was known of it.
    pub(super) fn note_interface(&mut self, index: u32, now: Interface) -> Option<Interface> {
        if self.interfaces.len() >= self.room && !self.interfaces.contains_key(&index) {
            self.is_full = true;
            return None;
        }
        self.interfaces.insert(index, now)
    }

    /// Notes an address. Returns whether it was not known.
    pub(super) fn note_address(&mut self, index: u32, ip: IpAddr) -> bool {
        if self.addresses.contains(&(ip, index)) {
            return false;
        }
        if self.addresses.len() < self.room {
            self.addresses.insert((ip, index));
        } else {
            self.is_full = true;
        }
        true
    }

    fn note_removed(&mut self, (ip, index): (IpAddr, u32)) {
        if self.removed.len() < self.room {
            self.removed.insert(LocalAddress::new(index, ip));
        } else {
            self.is_full = true;
        }
    }

    /// Whether an interface that was known could send and can not, or the other way round, or both in turn.
    fn has_turned(&mut self, link: Link) -> bool {
        let now = Interface { is_running: link.is_running, carriers: link.carriers };
        let before = self.note_interface(link.index, now);
        before.is_some_and(|before| {
            let is_counted = before.carriers.is_some() && now.carriers.is_some();
            before.is_running != now.is_running || is_counted && before.carriers != now.carriers
        })
    }
}

fn over(index: u32, may_be_back: bool) -> Change {
    let paths = PathFilter { interface: Some(index), ..PathFilter::default() };
    Change { paths, may_be_back, is_carrier: false }
}

/// The paths to where a route leads, over its interfaces; over all if it names none. Where it has gone, another may
/// carry.
fn along(route: &Route) -> Vec<Change> {
    if ![RTN_UNICAST, RTN_BLACKHOLE, RTN_UNREACHABLE].contains(&route.kind) {
        return Vec::new();
    }
    let over = |interface| {
        let paths = PathFilter { remote: Some(route.to), interface, ..PathFilter::default() };
        Change { paths, may_be_back: true, is_carrier: false }
    };
    if route.interfaces.is_empty() {
        return vec![over(None)];
    }
    route.interfaces.iter().map(|interface| over(Some(*interface))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 4;

    /// A network whose interface 2 is running.
    fn network() -> Network {
        let mut network = Network::with_room(ROOM);
        network.note_interface(2, Interface { is_running: true, carriers: None });
        network
    }

    fn link(index: u32, is_running: bool) -> Link {
        Link { index, is_running, carriers: None }
    }

    fn address(index: u32, ip: &str) -> Address {
        Address { index, ip: ip.parse().unwrap() }
    }

    /// Its carrier is back.
    fn carrier(index: u32) -> Vec<Change> {
        vec![Change { is_carrier: true, ..over(index, true) }]
    }

    fn removed(network: &mut Network) -> Vec<(String, u32)> {
        let removed = std::mem::take(&mut network.removed);
        removed.iter().map(|it| (it.ip.to_string(), it.interface)).collect()
    }

    #[test]
    fn an_interface_that_turns_is_told_once() {
        let mut network = network();
        let mut told =
            |index, is_running| network.changes(Message::NewLink(link(index, is_running)));
        assert_eq!(told(2, true), []);
        assert_eq!(told(2, false), [over(2, false)]);
        assert_eq!(told(2, false), []);
        assert_eq!(told(2, true), carrier(2));
        assert_eq!(told(3, false), [], "it is new");
        assert_eq!(told(3, true), carrier(3));
        assert_eq!(network.changes(Message::DelLink(link(3, false))), [over(3, false)]);
    }

    #[test]
    fn a_carrier_that_was_gone_for_a_moment_has_turned() {
        let mut network = network();
        let mut told = |carriers| {
            let link = Link { carriers: Some(carriers), ..link(2, true) };
            network.changes(Message::NewLink(link))
        };
        assert_eq!(told(7), [], "the first count is no change");
        assert_eq!(told(7), []);
        assert_eq!(told(8), carrier(2));
    }

    #[test]
    fn an_address_that_is_told_again_is_none() {
        let mut network = network();
        let told = address(2, "192.0.2.1");
        assert_eq!(network.changes(Message::NewAddress(told)), [over(2, true)]);
        assert_eq!(network.changes(Message::NewAddress(told)), []);
        assert_eq!(network.changes(Message::DelAddress(told)), [over(2, false)]);
        assert_eq!(network.changes(Message::DelAddress(told)), []);
    }

    #[test]
    fn addresses_that_are_removed_are_told_by_what_connections_know_of_them() {
        let mut network = network();
        for ip in ["192.0.2.1", "fe80::1"] {
            network.changes(Message::NewAddress(address(2, ip)));
        }
        network.changes(Message::NewAddress(address(3, "192.0.2.3")));
        assert_eq!(removed(&mut network), []);
        network.any_may_be_removed();
        let all =
            [("192.0.2.1".to_owned(), 0), ("192.0.2.3".to_owned(), 0), ("fe80::1".to_owned(), 2)];
        assert_eq!(removed(&mut network), all);
        network.changes(Message::DelLink(link(2, false)));
        let both = [all[0].clone(), all[2].clone()];
        assert_eq!(removed(&mut network), both, "they went with their interface");
        network.changes(Message::DelAddress(address(2, "fe80::1")));
        assert_eq!(removed(&mut network), both[1..], "though nothing is known of it");
    }

    #[test]
    fn more_than_there_is_room_for_is_told_and_taken_for_a_change_each_time() {
        let mut network = network();
        let ips: Vec<_> = (0..9).map(|n| address(2, &format!("192.0.2.{n}"))).collect();
        ips[..ROOM].iter().for_each(|ip| drop(network.changes(Message::NewAddress(*ip))));
        assert!(!network.is_full());
        for _ in 0..2 {
            assert_eq!(network.changes(Message::NewAddress(ips[ROOM])), [over(2, true)]);
        }
        assert_eq!(network.changes(Message::DelAddress(ips[ROOM])), [over(2, false)]);
        assert!(network.is_full());
        ips.iter().for_each(|ip| drop(network.changes(Message::DelAddress(*ip))));
        (0..9).for_each(|index| drop(network.changes(Message::NewLink(link(index, true)))));
        assert_eq!((network.removed.len(), network.interfaces.len()), (ROOM, ROOM));
    }

    #[test]
    fn a_route_concerns_what_it_leads_to() {
        let to = "192.0.2.0/24".parse().unwrap();
        let route = |kind, interfaces| Route { kind, to, interfaces };
        let led = |interface| {
            let paths = PathFilter { remote: Some(to), interface, namespace: None };
            Change { paths, may_be_back: true, is_carrier: false }
        };
        assert_eq!(along(&route(RTN_UNICAST, vec![])), [led(None)]);
        assert_eq!(along(&route(RTN_UNICAST, vec![2, 3])), [led(Some(2)), led(Some(3))]);
        assert_eq!(along(&route(nix::libc::RTN_LOCAL, vec![2])), []);
    }
}
