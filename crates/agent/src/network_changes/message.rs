//! What the kernel tells of links, addresses and routes over rtnetlink, as far as it is used here.
//!
//! Formats: linux/netlink.h, linux/rtnetlink.h. A message is a header, a struct of its kind, and attributes, each with its
//! length and its type. What is read of a message is one level deep, so that no input costs more stack or more time than
//! its length; the first length that cannot be ends the reading.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use nix::libc::{
    AF_INET, AF_INET6, AF_UNSPEC, IFA_ADDRESS, IFA_LOCAL, IFF_RUNNING, IFLA_CARRIER_UP_COUNT,
    NLA_TYPE_MASK, RTA_DST, RTA_MULTIPATH, RTA_OIF, RTM_DELADDR, RTM_DELLINK, RTM_DELROUTE,
    RTM_NEWADDR, RTM_NEWLINK, RTM_NEWROUTE,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Messages, attributes and next hops are aligned to so many bytes.
const ALIGNMENT: usize = 4;

/// `struct nlmsghdr`
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Header {
    pub length: u32,
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    pub port: u32,
}

/// `struct ifinfomsg`
#[derive(Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct LinkHeader {
    pub family: u8,
    pub padding: u8,
    pub device: u16,
    pub index: u32,
    pub flags: u32,
    pub changed: u32,
}

/// `struct ifaddrmsg`
#[derive(Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct AddressHeader {
    pub family: u8,
    pub bits: u8,
    pub flags: u8,
    pub scope: u8,
    pub index: u32,
}

/// `struct rtmsg`
#[derive(Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct RouteHeader {
    pub family: u8,
    pub to_bits: u8,
    pub from_bits: u8,
    pub service: u8,
    pub table: u8,
    pub protocol: u8,
    pub scope: u8,
    pub kind: u8,
    pub flags: u32,
}

/// `struct rtattr`
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct AttributeHeader {
    pub length: u16,
    pub kind: u16,
}

/// `struct rtnexthop`. Its own attributes, which are within its length, are not looked at.
#[derive(FromBytes, Immutable, KnownLayout)]
#[repr(C)]
struct NextHop {
    length: u16,
    flags: u8,
    hops: u8,
    index: u32,
}

/// A message of a kind that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    NewLink(Link),
    DelLink(Link),
    NewAddress(Address),
    DelAddress(Address),
    /// It is new, or gone.
    Route(Route),
}

/// What is told of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub index: u32,
    /// Whether it can send.
    pub is_running: bool,
    /// How often its carrier has come; None: that is not told.
    pub carriers: Option<u32>,
}

/// An address and the index of its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub index: u32,
    pub ip: IpAddr,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// What becomes of packets, by the kernel's number (RTN_UNICAST and so on).
    pub kind: u8,
    pub to: IpNet,
    /// The indices of the interfaces that it names.
    pub interfaces: Vec<u32>,
}

/// The messages in what was received at once, without those of other kinds.
pub(super) fn messages(received: &[u8]) -> impl Iterator<Item = Message> {
    let mut rest = received;
    let each = std::iter::from_fn(move || {
        let (header, _) = Header::read_from_prefix(rest).ok()?;
        let body = taken::<Header>(&mut rest, header.length as usize)?;
        Some((header.kind, body))
    });
    each.filter_map(|(kind, body)| message(kind, body))
}

fn message(kind: u16, body: &[u8]) -> Option<Message> {
    match kind {
        RTM_NEWLINK => link(body).map(Message::NewLink),
        RTM_DELLINK => link(body).map(Message::DelLink),
        RTM_NEWADDR => address(body).map(Message::NewAddress),
        RTM_DELADDR => address(body).map(Message::DelAddress),
        RTM_NEWROUTE | RTM_DELROUTE => route(body).map(Message::Route),
        _ => None,
    }
}

/// None where it is of an interface's part in something else, as in a bridge.
fn link(body: &[u8]) -> Option<Link> {
    let (header, rest) = LinkHeader::read_from_prefix(body).ok()?;
    let is_whole = i32::from(header.family) == AF_UNSPEC;
    let carriers = attributes(rest)
        .find(|(kind, _)| *kind == IFLA_CARRIER_UP_COUNT)
        .and_then(|(_, value)| number(value));
    let is_running = header.flags & IFF_RUNNING as u32 != 0;
    is_whole.then_some(Link { index: header.index, is_running, carriers })
}

/// Where an interface has a peer, its own address is the local one.
fn address(body: &[u8]) -> Option<Address> {
    let (header, rest) = AddressHeader::read_from_prefix(body).ok()?;
    let of_kind = |wanted| attributes(rest).find(|(kind, _)| *kind == wanted);
    let (_, value) = of_kind(IFA_LOCAL).or_else(|| of_kind(IFA_ADDRESS))?;
    Some(Address { index: header.index, ip: ip(header.family, value)? })
}

fn route(body: &[u8]) -> Option<Route> {
    let (header, rest) = RouteHeader::read_from_prefix(body).ok()?;
    let mut to = match i32::from(header.family) {
        AF_INET => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        AF_INET6 => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    let mut interfaces = Vec::new();
    for (kind, value) in attributes(rest) {
        match kind {
            RTA_DST => to = ip(header.family, value)?,
            RTA_OIF => interfaces.extend(number(value)),
            RTA_MULTIPATH => interfaces.extend(next_hops(value)),
            _ => {}
        }
    }
    let to = IpNet::new(to, header.to_bits).ok()?;
    Some(Route { kind: header.kind, to, interfaces })
}

/// The types and values of the attributes.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (header, _) = AttributeHeader::read_from_prefix(rest).ok()?;
        let value = taken::<AttributeHeader>(&mut rest, header.length.into())?;
        Some((header.kind & NLA_TYPE_MASK as u16, value))
    })
}

/// The indices of the interfaces of next hops.
fn next_hops(mut rest: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let (hop, _) = NextHop::read_from_prefix(rest).ok()?;
        taken::<NextHop>(&mut rest, hop.length.into())?;
        Some(hop.index)
    })
}

/// Takes a part of this length from the front, and returns what of it follows the header `H`; None if it is shorter than
/// its header, or longer than what there is.
fn taken<'a, H>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let body = rest.get(size_of::<H>()..length)?;
    // The last may end before its padding.
    *rest = rest.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
    Some(body)
}

fn number(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_ne_bytes)
}

fn ip(family: u8, value: &[u8]) -> Option<IpAddr> {
    match i32::from(family) {
        AF_INET => <[u8; 4]>::try_from(value).ok().map(IpAddr::from),
        AF_INET6 => <[u8; 16]>::try_from(value).ok().map(IpAddr::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use nix::libc::{NLMSG_DONE, RTN_UNICAST};

    use super::super::question::{attribute, message as written};
    use super::*;

    fn read(kind: u16, parts: &[&[u8]]) -> Vec<Message> {
        messages(&written(kind, 0, &parts.concat())).collect()
    }

    #[test]
    fn a_multipath_route_names_the_interface_of_each_hop() {
        let hop = |index: u32, within: &[u8]| {
            let length = (size_of::<NextHop>() + within.len()) as u16;
            [&length.to_ne_bytes()[..], &[0, 0], &index.to_ne_bytes(), within].concat()
        };
        let gateway = attribute(nix::libc::RTA_GATEWAY, &[192, 0, 2, 1]);
        let hops = attribute(RTA_MULTIPATH, &[hop(2, &gateway), hop(3, &[])].concat());
        let header = RouteHeader {
            family: AF_INET as u8,
            to_bits: 24,
            kind: RTN_UNICAST,
            ..RouteHeader::default()
        };
        let to = attribute(RTA_DST, &[198, 51, 100, 0]);
        let route = Route {
            kind: RTN_UNICAST,
            to: "198.51.100.0/24".parse().unwrap(),
            interfaces: vec![2, 3],
        };
        let read = read(RTM_NEWROUTE, &[header.as_bytes(), &to, &hops]);
        assert_eq!(read, [Message::Route(route)]);
    }

    #[test]
    fn hops_within_hops_are_not_followed() {
        let mut nested = Vec::new();
        while nested.len() < 60_000 {
            let length = (size_of::<NextHop>() + nested.len()) as u16;
            let hop = [&length.to_ne_bytes()[..], &[0, 0], &1_u32.to_ne_bytes(), &nested].concat();
            nested = attribute(RTA_MULTIPATH, &hop);
        }
        let header = RouteHeader { family: AF_INET as u8, ..RouteHeader::default() };
        let [Message::Route(route)] = &read(RTM_NEWROUTE, &[header.as_bytes(), &nested])[..] else {
            panic!("one route is read")
        };
        assert_eq!(route.interfaces, [1]);
    }

    #[test]
    fn a_length_that_cannot_be_ends_the_reading() {
        assert_eq!(messages(&[0; 60_000]).count(), 0);
        let header = AddressHeader { family: AF_INET as u8, ..AddressHeader::default() };
        let ip = attribute(IFA_LOCAL, &[192, 0, 2, 1]);
        let whole = written(RTM_NEWADDR, 0, &[header.as_bytes(), &ip].concat());
        let done = written(NLMSG_DONE as u16, 0, &[0; 4]);
        assert_eq!(messages(&[&done[..], &whole, &whole].concat()).count(), 2);
        assert_eq!(messages(&[&whole[..], &[0; 16], &whole].concat()).count(), 1);
        assert_eq!(messages(&[&whole[..], &whole[..whole.len() - 1]].concat()).count(), 1);
        let mut short = ip.clone();
        short[0] = 3;
        assert_eq!(read(RTM_NEWADDR, &[header.as_bytes(), &short, &ip]), []);
    }

    #[test]
    fn an_address_of_another_length_is_none() {
        let header = AddressHeader { family: AF_INET as u8, ..AddressHeader::default() };
        assert_eq!(read(RTM_NEWADDR, &[header.as_bytes(), &attribute(IFA_LOCAL, &[0; 16])]), []);
        assert_eq!(read(RTM_NEWADDR, &[header.as_bytes()]), []);
        let route = RouteHeader { family: AF_INET as u8, to_bits: 33, ..RouteHeader::default() };
        assert_eq!(read(RTM_NEWROUTE, &[route.as_bytes()]), []);
    }
}
