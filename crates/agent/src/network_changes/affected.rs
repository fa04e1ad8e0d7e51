//! Which paths a message of the kernel concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::LocalAddress;
use crate::paths::PathFilter;

/// The interfaces, as far as the kernel has told of them. It tells the same again, as with each router
/// advertisement.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// By their indices.
    pub interfaces: BTreeMap<u32, Interface>,
    /// The addresses, with the index of their interface.
    pub addresses: BTreeSet<(u32, IpAddr)>,
    /// Addresses that were taken from an interface since the last look.
    pub removed: BTreeSet<LocalAddress>,
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
pub(super) struct Change {
    /// The paths that are others now.
    pub paths: PathFilter,
    /// Whether they may carry again, and did not.
    pub may_be_back: bool,
    /// Whether it is that an interface has a carrier again.
    pub is_carrier: bool,
}

impl Network {
    /// What has changed by the message; nothing if it tells what is known.
    pub fn changes(&mut self, message: &RouteNetlinkMessage) -> Vec<Change> {
        let over = |index, may_be_back| {
            let paths = PathFilter { interface: Some(index), ..PathFilter::default() };
            Change { paths, may_be_back, is_carrier: false }
        };
        match message {
            RouteNetlinkMessage::NewLink(link) if self.has_turned(link) => {
                let is_running = is_running(link);
                let turned = over(link.header.index, is_running);
                vec![Change { is_carrier: is_running, ..turned }]
            }
            RouteNetlinkMessage::DelLink(link) if is_whole(link) => {
                let index = link.header.index;
                self.interfaces.remove(&index);
                let of_it = self.addresses.iter().filter(|(of, _)| *of == index);
                self.removed.extend(of_it.map(|(of, ip)| LocalAddress::new(*of, *ip)));
                self.addresses.retain(|(of, _)| *of != index);
                vec![over(index, false)]
            }
            RouteNetlinkMessage::NewAddress(message) => match address(message) {
                Some(address) if self.addresses.insert(address) => vec![over(address.0, true)],
                _ => Vec::new(),
            },
            RouteNetlinkMessage::DelAddress(message) => match address(message) {
                Some(address) => {
                    // One of which nothing is known may have come with messages that were lost.
                    self.removed.insert(LocalAddress::new(address.0, address.1));
                    let was_known = self.addresses.remove(&address);
                    if was_known { vec![over(address.0, false)] } else { Vec::new() }
                }
                None => Vec::new(),
            },
            RouteNetlinkMessage::NewRoute(route) | RouteNetlinkMessage::DelRoute(route) => {
                along(route)
            }
            _ => Vec::new(),
        }
    }

    /// Notes every address as one that may be removed: messages were lost.
    pub fn any_may_be_removed(&mut self) {
        let all = self.addresses.iter();
        self.removed.extend(all.map(|(index, ip)| LocalAddress::new(*index, *ip)));
    }

    /// Whether an interface that was known could send and can not, or the other way round, or both in turn.
    fn has_turned(&mut self, link: &LinkMessage) -> bool {
        if !is_whole(link) {
            return false;
        }
        let carriers = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::CarrierUpCount(count) => Some(*count),
            _ => None,
        });
        let now = Interface { is_running: is_running(link), carriers };
        let before = self.interfaces.insert(link.header.index, now);
        before.is_some_and(|before| {
            let is_counted = before.carriers.is_some() && now.carriers.is_some();
            before.is_running != now.is_running || is_counted && before.carriers != now.carriers
        })
    }
}

fn is_running(link: &LinkMessage) -> bool {
    link.header.flags.contains(LinkFlags::Running)
}

/// A message of a bridge, for instance, is of an interface's part in it.
fn is_whole(link: &LinkMessage) -> bool {
    link.header.interface_family == AddressFamily::Unspec
}

/// The address of a message. Where an interface has a peer, its own is the local one.
fn address(message: &AddressMessage) -> Option<(u32, IpAddr)> {
    let attributes = &message.attributes;
    let local = attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    let address = local.or_else(|| {
        attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    });
    Some((message.header.index, address?))
}

/// The paths to where a route leads, over its interfaces; over all if it names none. Where it has gone, another may
/// carry.
fn along(route: &RouteMessage) -> Vec<Change> {
    if !matches!(
        route.header.kind,
        RouteType::Unicast | RouteType::BlackHole | RouteType::Unreachable
    ) {
        return Vec::new();
    }
    let mut destination = match route.header.address_family {
        AddressFamily::Inet => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        AddressFamily::Inet6 => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        _ => return Vec::new(),
    };
    let mut interfaces = Vec::new();
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Destination(RouteAddress::Inet(address)) => {
                destination = (*address).into();
            }
            RouteAttribute::Destination(RouteAddress::Inet6(address)) => {
                destination = (*address).into();
            }
            RouteAttribute::Oif(index) => interfaces.push(Some(*index)),
            RouteAttribute::MultiPath(hops) => {
                interfaces.extend(hops.iter().map(|hop| Some(hop.interface_index)));
            }
            _ => {}
        }
    }
    if interfaces.is_empty() {
        interfaces.push(None);
    }
    let remote = IpNet::new(destination, route.header.destination_prefix_length).ok();
    let over = |interface| {
        let paths = PathFilter { remote, interface, ..PathFilter::default() };
        Change { paths, may_be_back: true, is_carrier: false }
    };
    interfaces.into_iter().map(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> Network {
        let known = Interface { is_running: true, carriers: None };
        Network { interfaces: BTreeMap::from([(2, known)]), ..Network::default() }
    }

    fn link(index: u32, flags: LinkFlags, family: AddressFamily) -> LinkMessage {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = flags;
        link.header.interface_family = family;
        link
    }

    fn over(index: u32, may_be_back: bool) -> Vec<Change> {
        let paths = PathFilter { interface: Some(index), ..PathFilter::default() };
        vec![Change { paths, may_be_back, is_carrier: false }]
    }

    /// Its carrier is back.
    fn carrier(index: u32) -> Vec<Change> {
        let [change] = over(index, true).try_into().unwrap();
        vec![Change { is_carrier: true, ..change }]
    }

    #[test]
    fn an_interface_that_turns_is_told_once() {
        let mut network = network();
        let mut told = |index, flags, family| {
            network.changes(&RouteNetlinkMessage::NewLink(link(index, flags, family)))
        };
        let (up, down, whole) =
            (LinkFlags::Up | LinkFlags::Running, LinkFlags::Up, AddressFamily::Unspec);
        assert_eq!(told(2, up, whole), []);
        assert_eq!(told(2, down, AddressFamily::Bridge), []);
        assert_eq!(told(2, down, whole), over(2, false));
        assert_eq!(told(2, down, whole), []);
        assert_eq!(told(2, up, whole), carrier(2));
        assert_eq!(told(3, down, whole), [], "it is new");
        assert_eq!(told(3, up, whole), carrier(3));
        let gone = link(3, down, whole);
        assert_eq!(network.changes(&RouteNetlinkMessage::DelLink(gone)), over(3, false));
    }

    #[test]
    fn a_carrier_that_was_gone_for_a_moment_has_turned() {
        let mut network = network();
        let mut told = |carriers| {
            let up = LinkFlags::Up | LinkFlags::Running;
            let mut link = link(2, up, AddressFamily::Unspec);
            link.attributes.push(LinkAttribute::CarrierUpCount(carriers));
            network.changes(&RouteNetlinkMessage::NewLink(link))
        };
        assert_eq!(told(7), [], "the first count is no change");
        assert_eq!(told(7), []);
        assert_eq!(told(8), carrier(2));
    }

    #[test]
    fn an_address_that_is_told_again_is_none() {
        let mut network = network();
        let mut message = AddressMessage::default();
        message.header.index = 2;
        message.attributes.push(AddressAttribute::Address("192.0.2.2".parse().unwrap()));
        message.attributes.push(AddressAttribute::Local("192.0.2.1".parse().unwrap()));
        let new = RouteNetlinkMessage::NewAddress(message.clone());
        assert_eq!(network.changes(&new), over(2, true));
        assert!(network.addresses.contains(&(2, "192.0.2.1".parse().unwrap())));
        assert_eq!(network.changes(&new), []);
        let gone = RouteNetlinkMessage::DelAddress(message);
        assert_eq!(network.changes(&gone), over(2, false));
        assert_eq!(network.changes(&gone), []);
    }

    #[test]
    fn addresses_that_are_removed_are_told_by_what_connections_know_of_them() {
        let mut network = network();
        let mut message = AddressMessage::default();
        message.header.index = 2;
        for ip in ["192.0.2.1", "fe80::1"] {
            message.attributes = vec![AddressAttribute::Address(ip.parse().unwrap())];
            network.changes(&RouteNetlinkMessage::NewAddress(message.clone()));
        }
        assert_eq!(network.removed, BTreeSet::new());
        let removed = |network: &mut Network| {
            let removed = std::mem::take(&mut network.removed);
            removed.iter().map(|it| (it.ip.to_string(), it.interface)).collect::<Vec<_>>()
        };
        network.any_may_be_removed();
        let both = [("192.0.2.1".to_owned(), 0), ("fe80::1".to_owned(), 2)];
        assert_eq!(removed(&mut network), both);
        let gone = link(2, LinkFlags::Up, AddressFamily::Unspec);
        network.changes(&RouteNetlinkMessage::DelLink(gone));
        assert_eq!(removed(&mut network), both, "they went with their interface");
        network.changes(&RouteNetlinkMessage::DelAddress(message));
        assert_eq!(removed(&mut network), both[1..], "though nothing is known of it");
    }

    #[test]
    fn a_route_concerns_what_it_leads_to() {
        let mut route = RouteMessage::default();
        route.header.address_family = AddressFamily::Inet;
        route.header.kind = RouteType::Unicast;
        let led = |remote: &str, interface| {
            let paths = PathFilter { remote: remote.parse().ok(), interface, namespace: None };
            [Change { paths, may_be_back: true, is_carrier: false }]
        };
        assert_eq!(along(&route), led("0.0.0.0/0", None));
        route.header.destination_prefix_length = 24;
        let to = RouteAddress::Inet(Ipv4Addr::new(192, 0, 2, 0));
        route.attributes = vec![RouteAttribute::Destination(to), RouteAttribute::Oif(2)];
        assert_eq!(along(&route), led("192.0.2.0/24", Some(2)));
        route.header.kind = RouteType::Local;
        assert_eq!(along(&route), []);
    }
}
