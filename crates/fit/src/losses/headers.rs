//! Reads the headers that count here: addresses, ports, and TCP's sequence numbers or a datagram's first
//! bytes.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    EtherType, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpSlice, TransportSlice,
};
use pcap_parser::Linktype;

/// Bytes of a datagram in which a number is looked for.
pub(super) const HEAD: usize = 64;
/// Raw IP as some BSDs and old captures number it, besides [`Linktype::RAW`].
const OLD_RAW: [Linktype; 2] = [Linktype(12), Linktype(14)];
/// Linux cooked headers: the EtherType stands at this place, the packet begins at that one.
const COOKED: (usize, usize) = (14, 16);
const COOKED_2: (usize, usize) = (0, 20);

/// A packet of a flow.
pub(super) struct Packet {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub content: Content,
}

pub(super) enum Content {
    Segment(Segment),
    Datagram(Datagram),
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    pub seq: u32,
    /// The acknowledgement number; None without the ACK flag.
    pub ack: Option<u32>,
    /// Data, bytes, by the IP header: a capture may hold less.
    pub len: u32,
    pub syn: bool,
    /// The MSS option, of a SYN.
    pub mss: Option<u16>,
    /// Bytes of options.
    pub options: u8,
    /// Timestamp: value and echo.
    pub stamp: Option<(u32, u32)>,
    /// The first SACK block, which of a duplicate tells what arrived twice (RFC 2883).
    pub sack: Option<(u32, u32)>,
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram {
    /// Its first bytes.
    pub head: [u8; HEAD],
    /// How many of them there are.
    pub length: u8,
}

impl Packet {
    /// Parses a packet. None if it is not TCP or UDP over IP, or if its headers were not captured.
    pub fn parse(link: Linktype, data: &[u8]) -> Option<Packet> {
        let sliced = match link {
            Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok()?,
            Linktype::LINUX_SLL => cooked(data, COOKED)?,
            Linktype::LINUX_SLL2 => cooked(data, COOKED_2)?,
            // Four bytes tell the family in the order of the machine; the IP header tells it too.
            Linktype::NULL | Linktype::LOOP => LaxSlicedPacket::from_ip(data.get(4..)?).ok()?,
            Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => {
                LaxSlicedPacket::from_ip(data).ok()?
            }
            link if OLD_RAW.contains(&link) => LaxSlicedPacket::from_ip(data).ok()?,
            _ => return None,
        };
        let (addresses, fragment, length) = network(sliced.net.as_ref()?)?;
        if fragment {
            return None;
        }
        let [source, destination] = addresses;
        let (ports, content) = match sliced.transport? {
            TransportSlice::Tcp(tcp) => (
                [tcp.source_port(), tcp.destination_port()],
                Content::Segment(Segment::of(&tcp, length)),
            ),
            TransportSlice::Udp(udp) => {
                let payload = udp.payload();
                let mut head = [0; HEAD];
                let length = payload.len().min(HEAD);
                head[..length].copy_from_slice(&payload[..length]);
                let datagram = Datagram { head, length: length as u8 };
                ([udp.source_port(), udp.destination_port()], Content::Datagram(datagram))
            }
            _ => return None,
        };
        Some(Packet {
            from: SocketAddr::new(source, ports[0]),
            to: SocketAddr::new(destination, ports[1]),
            content,
        })
    }
}

fn cooked(data: &[u8], (at, begin): (usize, usize)) -> Option<LaxSlicedPacket<'_>> {
    let kind = data.get(at..at + 2)?;
    let kind = EtherType(u16::from_be_bytes([kind[0], kind[1]]));
    Some(LaxSlicedPacket::from_ether_type(kind, data.get(begin..)?))
}

/// Addresses, whether it is a part of a packet only, and what the IP header says its payload has, bytes.
fn network(net: &LaxNetSlice) -> Option<([IpAddr; 2], bool, u32)> {
    match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let addresses = [header.source_addr().into(), header.destination_addr().into()];
            let length = u32::from(header.total_len()).checked_sub(u32::from(header.ihl()) * 4)?;
            Some((addresses, ip.is_payload_fragmented(), length))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let addresses = [header.source_addr().into(), header.destination_addr().into()];
            let extensions = ip.extensions().slice().len() as u32;
            let length = u32::from(header.payload_length()).checked_sub(extensions)?;
            Some((addresses, ip.is_payload_fragmented(), length))
        }
        _ => None,
    }
}

impl Segment {
    /// Reads a segment whose IP payload has so many bytes.
    fn of(tcp: &TcpSlice, length: u32) -> Segment {
        let header = tcp.header_slice().len() as u32;
        let mut segment = Segment {
            seq: tcp.sequence_number(),
            ack: tcp.ack().then(|| tcp.acknowledgment_number()),
            len: length.saturating_sub(header),
            syn: tcp.syn(),
            options: tcp.options().len() as u8,
            ..Segment::default()
        };
        for option in tcp.options_iterator().flatten() {
            match option {
                TcpOptionElement::MaximumSegmentSize(mss) => segment.mss = Some(mss),
                TcpOptionElement::Timestamp(value, echo) => segment.stamp = Some((value, echo)),
                TcpOptionElement::SelectiveAcknowledgement(first, _) => segment.sack = Some(first),
                _ => {}
            }
        }
        segment
    }
}
