//! Which paths a message of the kernel concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use kirikae_agent::PathFilter;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

/// The interfaces, as far as the kernel has told of them. It tells the same again, as with each router
/// advertisement.
#[derive(Debug)]
pub(super) struct Network {
    /// Whether an interface can send, by its index.
    pub running: BTreeMap<u32, bool>,
    /// The addresses, with the index of their interface.
    pub addresses: BTreeSet<(u32, IpAddr)>,
}

impl Network {
    /// The paths that the message concerns; none if nothing has changed for any.
    pub fn affected(&mut self, message: &RouteNetlinkMessage) -> Vec<PathFilter> {
        let over = |index| vec![PathFilter { interface: Some(index), ..PathFilter::default() }];
        match message {
            RouteNetlinkMessage::NewLink(link) if self.has_turned(link) => over(link.header.index),
            RouteNetlinkMessage::DelLink(link) if is_whole(link) => {
                self.running.remove(&link.header.index);
                self.addresses.retain(|(index, _)| *index != link.header.index);
                over(link.header.index)
            }
            RouteNetlinkMessage::NewAddress(message) => match address(message) {
                Some(address) if self.addresses.insert(address) => over(address.0),
                _ => Vec::new(),
            },
            RouteNetlinkMessage::DelAddress(message) => match address(message) {
                Some(address) if self.addresses.remove(&address) => over(address.0),
                _ => Vec::new(),
            },
            RouteNetlinkMessage::NewRoute(route) | RouteNetlinkMessage::DelRoute(route) => {
                along(route)
            }
            _ => Vec::new(),
        }
    }

    /// Whether an interface that was known can send and could not, or the other way round.
    fn has_turned(&mut self, link: &LinkMessage) -> bool {
        let is_running = link.header.flags.contains(LinkFlags::Running);
        is_whole(link)
            && self.running.insert(link.header.index, is_running).is_some_and(|it| it != is_running)
    }
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

/// The paths to where a route leads, over its interfaces; over all if it names none.
fn along(route: &RouteMessage) -> Vec<PathFilter> {
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
    let over = |interface| PathFilter { remote, interface, ..PathFilter::default() };
    interfaces.into_iter().map(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> Network {
        Network { running: BTreeMap::from([(2, true)]), addresses: BTreeSet::new() }
    }

    fn link(index: u32, flags: LinkFlags, family: AddressFamily) -> LinkMessage {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = flags;
        link.header.interface_family = family;
        link
    }

    fn over(index: u32) -> Vec<PathFilter> {
        vec![PathFilter { interface: Some(index), ..PathFilter::default() }]
    }

    #[test]
    fn an_interface_that_turns_is_told_once() {
        let mut network = network();
        let mut told = |index, flags, family| {
            network.affected(&RouteNetlinkMessage::NewLink(link(index, flags, family)))
        };
        let (up, down, whole) =
            (LinkFlags::Up | LinkFlags::Running, LinkFlags::Up, AddressFamily::Unspec);
        assert_eq!(told(2, up, whole), []);
        assert_eq!(told(2, down, AddressFamily::Bridge), []);
        assert_eq!(told(2, down, whole), over(2));
        assert_eq!(told(2, down, whole), []);
        assert_eq!(told(2, up, whole), over(2));
        assert_eq!(told(3, down, whole), [], "it is new");
        assert_eq!(told(3, up, whole), over(3));
        let gone = link(3, down, whole);
        assert_eq!(network.affected(&RouteNetlinkMessage::DelLink(gone)), over(3));
    }

    #[test]
    fn an_address_that_is_told_again_is_none() {
        let mut network = network();
        let mut message = AddressMessage::default();
        message.header.index = 2;
        message.attributes.push(AddressAttribute::Address("192.0.2.2".parse().unwrap()));
        message.attributes.push(AddressAttribute::Local("192.0.2.1".parse().unwrap()));
        let new = RouteNetlinkMessage::NewAddress(message.clone());
        assert_eq!(network.affected(&new), over(2));
        assert!(network.addresses.contains(&(2, "192.0.2.1".parse().unwrap())));
        assert_eq!(network.affected(&new), []);
        let gone = RouteNetlinkMessage::DelAddress(message);
        assert_eq!(network.affected(&gone), over(2));
        assert_eq!(network.affected(&gone), []);
    }

    #[test]
    fn a_route_concerns_what_it_leads_to() {
        let mut route = RouteMessage::default();
        route.header.address_family = AddressFamily::Inet;
        route.header.kind = RouteType::Unicast;
        assert_eq!(
            along(&route),
            [PathFilter { remote: "0.0.0.0/0".parse().ok(), ..PathFilter::default() }]
        );
        route.header.destination_prefix_length = 24;
        let to = RouteAddress::Inet(Ipv4Addr::new(192, 0, 2, 0));
        route.attributes = vec![RouteAttribute::Destination(to), RouteAttribute::Oif(2)];
        let remote = "192.0.2.0/24".parse().ok();
        assert_eq!(along(&route), [PathFilter { remote, interface: Some(2), namespace: None }]);
        route.header.kind = RouteType::Local;
        assert_eq!(along(&route), []);
    }
}
