//! Addresses of a network namespace's own.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr};

use kirikae_interface::local_address;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::ifaddrs::getifaddrs;

use super::{AT_ONCE, messages, question};

/// A local address, as connections have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LocalAddress {
    pub ip: IpAddr,
    /// The index of the interface of a link-local IPv6 address; 0 for any other, which belongs to the whole
    /// namespace.
    pub interface: u32,
}

impl LocalAddress {
    /// An address of the interface of that index.
    pub fn new(interface: u32, ip: IpAddr) -> LocalAddress {
        let is_link_local = matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
        LocalAddress { ip, interface: if is_link_local { interface } else { 0 } }
    }

    /// The addresses of all interfaces of the calling thread's namespace, also of those that are down and of
    /// those on which it is still asked whether another host has the address.
    pub fn all() -> io::Result<BTreeSet<LocalAddress>> {
        let address = |it: nix::ifaddrs::InterfaceAddress| {
            let address = it.address?;
            let v4 = address.as_sockaddr_in().map(|it| LocalAddress::new(0, it.ip().into()));
            // The interface is not looked up by its name, which may change meanwhile.
            let v6 = |it: &nix::sys::socket::SockaddrIn6| {
                LocalAddress::new(it.scope_id(), it.ip().into())
            };
            v4.or_else(|| address.as_sockaddr_in6().map(v6))
        };
        Ok(getifaddrs()?.filter_map(address).collect())
    }

    /// Whether the calling thread's namespace takes packets to the address for its own. It may without an
    /// interface that has the address, by a route of the type `local`.
    pub fn is_routed_here(&self) -> io::Result<bool> {
        if self.interface != 0 {
            return Ok(false);
        }
        let socket = Socket::new(NETLINK_ROUTE)?;
        socket.send_to(&route_wanted(self.ip), &SocketAddr::new(0, 0), 0)?;
        let mut answer = Vec::with_capacity(AT_ONCE);
        socket.recv(&mut answer, 0)?;
        // Where there is no route, the answer is an error.
        Ok(messages(&answer).iter().any(|message| {
            matches!(message, RouteNetlinkMessage::NewRoute(route)
                if route.header.kind == RouteType::Local)
        }))
    }

    /// The address in the form of the kernel's side.
    pub fn in_kernel(&self) -> local_address {
        let ip: Ipv6Addr = match self.ip {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        local_address { address: ip.into(), interface: self.interface }
    }
}

/// Asks for the route to an address.
fn route_wanted(to: IpAddr) -> Vec<u8> {
    let (family, bits, destination) = match to {
        IpAddr::V4(ip) => (AddressFamily::Inet, 32, RouteAddress::Inet(ip)),
        IpAddr::V6(ip) => (AddressFamily::Inet6, 128, RouteAddress::Inet6(ip)),
    };
    let mut route = RouteMessage::default();
    route.header.address_family = family;
    route.header.destination_prefix_length = bits;
    route.attributes.push(RouteAttribute::Destination(destination));
    question(0, RouteNetlinkMessage::GetRoute(route))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(interface: u32, ip: &str) -> LocalAddress {
        LocalAddress::new(interface, ip.parse().unwrap())
    }

    #[test]
    fn only_link_local_addresses_belong_to_an_interface() {
        assert_eq!(address(2, "192.0.2.1"), address(3, "192.0.2.1"));
        assert_eq!(address(2, "169.254.0.1"), address(3, "169.254.0.1"));
        assert_eq!(address(2, "2001:db8::1"), address(3, "2001:db8::1"));
        assert_ne!(address(2, "fe80::1"), address(3, "fe80::1"));
    }

    #[test]
    fn the_kernel_is_told_ipv4_addresses_as_mapped_ones() {
        assert_eq!(address(2, "192.0.2.1").in_kernel(), address(0, "::ffff:192.0.2.1").in_kernel());
        assert_eq!(address(7, "fe80::1").in_kernel().interface, 7);
    }

    #[test]
    fn what_the_kernel_takes_for_its_own_is_here() {
        // Of 127.0.0.0/8 one address is on the interface; all are routed to the host.
        assert!(address(0, "127.0.0.9").is_routed_here().unwrap());
        assert!(!LocalAddress::all().unwrap().contains(&address(0, "127.0.0.9")));
        assert!(!address(0, "192.0.2.1").is_routed_here().unwrap());
    }
}
