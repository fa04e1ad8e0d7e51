//! Addresses of a network namespace's own.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr};

use kirikae_interface::local_address;
use nix::ifaddrs::getifaddrs;
use nix::libc::RTN_LOCAL;

use super::kernel_socket::{AT_ONCE, KernelSocket};
use super::message::{Message, messages};
use super::question::route_wanted;

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

    /// Those of these that are not the calling thread's namespace's own: no interface has them, and no route of the type
    /// `local` leads to them.
    pub fn gone(these: &[LocalAddress]) -> io::Result<Vec<LocalAddress>> {
        let (there, routes) = (LocalAddress::all()?, KernelSocket::open()?);
        let mut gone = Vec::new();
        for address in these.iter().filter(|it| !there.contains(it)) {
            // A link-local address of an interface is routed by none of these.
            if address.interface != 0 || !is_routed_here(address.ip, &routes)? {
                gone.push(*address);
            }
        }
        Ok(gone)
    }

    /// The address in a namespace, in the form of the kernel's side.
    pub fn in_kernel(&self, namespace: u32) -> local_address {
        let ip: Ipv6Addr = match self.ip {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        local_address { address: ip.into(), interface: self.interface, namespace }
    }
}

/// Whether the namespace of the socket takes packets to the address for its own.
fn is_routed_here(ip: IpAddr, routes: &KernelSocket) -> io::Result<bool> {
    routes.send(&route_wanted(ip))?;
    let mut answer = Vec::with_capacity(AT_ONCE);
    while !routes.receive(&mut answer)? {}
    // Where there is no route, the answer is an error.
    Ok(messages(&answer).any(|it| matches!(it, Message::Route(route) if route.kind == RTN_LOCAL)))
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
        let in_kernel = |interface, ip| address(interface, ip).in_kernel(9);
        assert_eq!(in_kernel(2, "192.0.2.1"), in_kernel(0, "::ffff:192.0.2.1"));
        assert_eq!((in_kernel(7, "fe80::1").interface, in_kernel(7, "fe80::1").namespace), (7, 9));
    }

    #[test]
    fn what_the_kernel_takes_for_its_own_is_not_gone() {
        // Of 127.0.0.0/8 one address is on the interface; all are routed to the host.
        let (own, elsewhere) = (address(0, "127.0.0.9"), address(0, "192.0.2.1"));
        assert!(!LocalAddress::all().unwrap().contains(&own));
        let link_local = address(2, "fe80::6b6b");
        let gone = LocalAddress::gone(&[own, elsewhere, link_local]).unwrap();
        assert_eq!(gone, [elsewhere, link_local]);
    }
}
