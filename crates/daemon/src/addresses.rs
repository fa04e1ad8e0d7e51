//! How much of remote addresses, which are people's, is told.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// How much of remote addresses is told: in what is printed, in status, log, page and listings. Ports are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addresses {
    /// All of it.
    #[default]
    Full,
    /// The network: 24 bits of IPv4, 48 of IPv6.
    Prefix,
    /// Nothing: the address is 0.0.0.0 or ::.
    None,
}

impl Addresses {
    /// What is told of a remote end.
    pub fn of(self, remote: SocketAddr) -> SocketAddr {
        let network = |address: IpAddr| self.of_network(IpNet::from(address)).addr();
        let told = match (remote.ip().to_canonical(), remote.ip()) {
            (IpAddr::V4(mapped), IpAddr::V6(_)) => match network(mapped.into()) {
                IpAddr::V4(told) => told.to_ipv6_mapped().into(),
                told => told,
            },
            (address, _) => network(address),
        };
        SocketAddr::new(told, remote.port())
    }

    /// What is told of a remote network.
    pub fn of_network(self, remote: IpNet) -> IpNet {
        let most = match (self, remote.addr()) {
            (Addresses::Full, _) => return remote,
            (Addresses::Prefix, IpAddr::V4(_)) => 24,
            (Addresses::Prefix, IpAddr::V6(_)) => 48,
            (Addresses::None, _) => 0,
        };
        let told = IpNet::new(remote.addr(), remote.prefix_len().min(most));
        told.expect("no more bits than before").trunc()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_tells_of_a_network_and_none_of_nobody() {
        for (remote, prefix, none) in [
            ("192.0.2.77:443", "192.0.2.0:443", "0.0.0.0:443"),
            ("[2001:db8:1:2::7]:443", "[2001:db8:1::]:443", "[::]:443"),
            ("[::ffff:192.0.2.77]:443", "[::ffff:192.0.2.0]:443", "[::ffff:0.0.0.0]:443"),
        ] {
            let remote: SocketAddr = remote.parse().unwrap();
            assert_eq!(Addresses::Full.of(remote), remote);
            assert_eq!(Addresses::Prefix.of(remote), prefix.parse().unwrap());
            assert_eq!(Addresses::None.of(remote), none.parse().unwrap());
        }
        let network = |text: &str| text.parse::<IpNet>().unwrap();
        assert_eq!(Addresses::Prefix.of_network(network("192.0.2.7/32")), network("192.0.2.0/24"));
        assert_eq!(Addresses::Prefix.of_network(network("10.0.0.0/8")), network("10.0.0.0/8"));
        assert_eq!(Addresses::None.of_network(network("2001:db8::/64")), network("::/0"));
    }
}
