//! Questions to the kernel, as they are sent.

use std::net::IpAddr;

use nix::libc::{
    AF_INET, AF_INET6, NLM_F_DUMP, NLM_F_REQUEST, RTA_DST, RTM_GETADDR, RTM_GETLINK, RTM_GETROUTE,
};
use zerocopy::IntoBytes;

use super::message::{AddressHeader, AttributeHeader, Header, LinkHeader, RouteHeader};

/// Asks for an interface.
pub(super) fn link_wanted(index: u32) -> Vec<u8> {
    let header = LinkHeader { index, ..LinkHeader::default() };
    message(RTM_GETLINK, NLM_F_REQUEST, header.as_bytes())
}

/// Asks for all interfaces, as messages of their own: only these tell how often a carrier has come.
pub(super) fn links_wanted() -> Vec<u8> {
    message(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, LinkHeader::default().as_bytes())
}

/// Asks for all addresses.
pub(super) fn addresses_wanted() -> Vec<u8> {
    message(RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, AddressHeader::default().as_bytes())
}

/// Asks for the route to an address.
pub(super) fn route_wanted(to: IpAddr) -> Vec<u8> {
    let (family, to_bits, octets) = match to {
        IpAddr::V4(ip) => (AF_INET, 32, ip.octets().to_vec()),
        IpAddr::V6(ip) => (AF_INET6, 128, ip.octets().to_vec()),
    };
    let header = RouteHeader { family: family as u8, to_bits, ..RouteHeader::default() };
    let body = [header.as_bytes(), &attribute(RTA_DST, &octets)].concat();
    message(RTM_GETROUTE, NLM_F_REQUEST, &body)
}

/// A message with this body, which is aligned.
pub(super) fn message(kind: u16, flags: i32, body: &[u8]) -> Vec<u8> {
    let length = (size_of::<Header>() + body.len()) as u32;
    let header = Header { length, kind, flags: flags as u16, sequence: 0, port: 0 };
    [header.as_bytes(), body].concat()
}

/// An attribute with this value, which is aligned.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = (size_of::<AttributeHeader>() + value.len()) as u16;
    [AttributeHeader { length, kind }.as_bytes(), value].concat()
}
