//! The message that makes the kernel undo a step of back-off: an ICMP "host unreachable" (over IPv6 "no route")
//! about the segment that is to be ACKed next.
//!
//! Source: RFC 6069, section 4, as Linux has it: where the time since the segment was sent is longer than the
//! timeout has become, it is sent again at once.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::icmpv6::DestUnreachableCode;
use etherparse::{Icmpv4Type, Icmpv6Type, PacketBuilder};
use socket2::{Domain, Protocol, Socket, Type};

use super::stalled::Stalled;

/// Packets of this protocol bring their own IP header, and none is received.
const RAW: i32 = nix::libc::IPPROTO_RAW;
/// The largest: a socket may ask for a least one of what is quoted (IP_MINTTL).
const TTL: u8 = 255;

/// Sends such messages in the network namespace in which it was made.
pub(super) struct Messenger {
    ipv4: Socket,
    /// None: the host has no IPv6.
    ipv6: Option<Socket>,
}

impl Messenger {
    /// Opens the sockets in the network namespace of the calling thread.
    pub fn open() -> io::Result<Messenger> {
        let open = |domain| {
            let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(RAW)))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let is_unsupported =
            |error: &io::Error| error.raw_os_error() == Some(nix::libc::EAFNOSUPPORT);
        let ipv6 = match open(Domain::IPV6) {
            Ok(socket) => Some(socket),
            Err(error) if is_unsupported(&error) => None,
            Err(error) => return Err(error),
        };
        Ok(Messenger { ipv4: open(Domain::IPV4)?, ipv6 })
    }

    /// Has a connection undo `steps` of its back-off.
    pub fn send(&self, stalled: &Stalled, steps: u32) -> io::Result<()> {
        let message = message(stalled);
        let (socket, to) = match stalled.local.ip() {
            IpAddr::V4(_) => (&self.ipv4, SocketAddr::new(stalled.local.ip(), 0)),
            IpAddr::V6(ip) => {
                let Some(socket) = &self.ipv6 else { return Ok(()) };
                // An address of one link alone is looked for on its interface.
                (socket, SocketAddrV6::new(ip, 0, 0, stalled.interface).into())
            }
        };
        (0..steps).try_for_each(|_| socket.send_to(&message, &to.into()).map(drop))
    }
}

/// The packet, from the connection's own address to itself.
fn message(stalled: &Stalled) -> Vec<u8> {
    let (local, remote) = (stalled.local, stalled.remote);
    let mut segment = Vec::new();
    let mut packet = Vec::new();
    let written = match (local.ip(), remote.ip()) {
        (IpAddr::V4(local_ip), IpAddr::V4(remote_ip)) => {
            PacketBuilder::ipv4(local_ip.octets(), remote_ip.octets(), TTL)
                .tcp(local.port(), remote.port(), stalled.snd_una, 0)
                .write(&mut segment, &[])
                .and_then(|()| {
                    let about = Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::Host);
                    PacketBuilder::ipv4(local_ip.octets(), local_ip.octets(), TTL)
                        .icmpv4(about)
                        .write(&mut packet, &segment)
                })
        }
        (local_ip, remote_ip) => {
            let octets = |ip: IpAddr| match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            PacketBuilder::ipv6(octets(local_ip), octets(remote_ip), TTL)
                .tcp(local.port(), remote.port(), stalled.snd_una, 0)
                .write(&mut segment, &[])
                .and_then(|()| {
                    let about = Icmpv6Type::DestinationUnreachable(DestUnreachableCode::NoRoute);
                    PacketBuilder::ipv6(octets(local_ip), octets(local_ip), TTL)
                        .icmpv6(about)
                        .write(&mut packet, &segment)
                })
        }
    };
    written.expect("a vector takes all, and so short a packet is allowed");
    packet
}

#[cfg(test)]
mod tests {
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};

    use super::*;

    fn stalled(local: &str, remote: &str) -> Stalled {
        Stalled {
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
            namespace: 1,
            interface: 2,
            snd_una: 0x0102_0304,
            rto_us: 100_000,
            most_us: u32::MAX,
            back_off: 1,
            waited_us: 0,
        }
    }

    /// What is quoted of the segment begins here.
    const IPV4_HEADERS: usize = 20 + 8;
    const IPV6_HEADERS: usize = 40 + 8;

    #[test]
    fn it_quotes_what_is_to_be_acked_next() {
        let packet = message(&stalled("192.0.2.1:80", "198.51.100.7:40000"));
        let outer = SlicedPacket::from_ip(&packet).unwrap();
        let Some(TransportSlice::Icmpv4(icmp)) = &outer.transport else { panic!("{outer:?}") };
        assert_eq!((icmp.type_u8(), icmp.code_u8()), (3, 1));
        assert_eq!(icmp.checksum(), icmp.header().icmp_type.calc_checksum(icmp.payload()));
        let quoted = SlicedPacket::from_ip(&packet[IPV4_HEADERS..]).unwrap();
        let Some(NetSlice::Ipv4(ip)) = &quoted.net else { panic!("{quoted:?}") };
        assert_eq!(ip.header().destination(), [198, 51, 100, 7]);
        assert_eq!(ip.header().ttl(), 255);
        let Some(TransportSlice::Tcp(tcp)) = &quoted.transport else { panic!("{quoted:?}") };
        assert_eq!((tcp.source_port(), tcp.destination_port()), (80, 40_000));
        assert_eq!(tcp.sequence_number(), 0x0102_0304);
    }

    #[test]
    fn over_ipv6_it_is_no_route() {
        let packet = message(&stalled("[2001:db8::1]:80", "[2001:db8::2]:40000"));
        let outer = SlicedPacket::from_ip(&packet).unwrap();
        let Some(TransportSlice::Icmpv6(icmp)) = &outer.transport else { panic!("{outer:?}") };
        assert_eq!((icmp.type_u8(), icmp.code_u8()), (1, 0));
        let quoted = SlicedPacket::from_ip(&packet[IPV6_HEADERS..]).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = &quoted.transport else { panic!("{quoted:?}") };
        assert_eq!(tcp.sequence_number(), 0x0102_0304);
    }
}
