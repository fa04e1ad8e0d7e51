//! Describes a lost TCP segment for the laboratory.

use std::collections::BTreeMap;

use etherparse::{SlicedPacket, TcpSlice, TransportSlice};
use kirikae_vocabulary::Segment;

/// The initial sequence numbers of the connections seen in one direction.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// The latest SYN's sequence number by source and destination port.
    initial_sequence: BTreeMap<(u16, u16), u32>,
}

impl Connections {
    /// Looks at a packet on its way in, and remembers it if it is a SYN.
    pub(crate) fn note(&mut self, packet: &[u8]) {
        if let Some((tcp, _)) = tcp(packet)
            && tcp.syn()
        {
            let ports = (tcp.source_port(), tcp.destination_port());
            self.initial_sequence.insert(ports, tcp.sequence_number());
        }
    }

    /// The TCP segment in a packet, if there is one.
    pub(crate) fn segment(&self, packet: &[u8]) -> Option<Segment> {
        let (tcp, payload_bytes) = tcp(packet)?;
        let ports = (tcp.source_port(), tcp.destination_port());
        let sequence = tcp.sequence_number();
        // A SYN takes up one sequence number before the first byte (RFC 9293, section 3.4).
        let first = sequence.wrapping_add(u32::from(tcp.syn()));
        let stream_offset = self
            .initial_sequence
            .get(&ports)
            .map(|initial| first.wrapping_sub(initial.wrapping_add(1)));
        Some(Segment {
            source_port: ports.0,
            destination_port: ports.1,
            syn: tcp.syn(),
            sequence,
            payload_bytes,
            stream_offset,
        })
    }
}

fn tcp(packet: &[u8]) -> Option<(TcpSlice<'_>, u32)> {
    match SlicedPacket::from_ip(packet).ok()?.transport? {
        TransportSlice::Tcp(tcp) => {
            let payload_bytes = tcp.payload().len() as u32;
            Some((tcp, payload_bytes))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    /// A TCP packet from port 1000 to port 2000.
    fn packet(sequence: u32, syn: bool, payload: &[u8]) -> Vec<u8> {
        let builder = PacketBuilder::ipv4([10, 75, 0, 1], [10, 75, 0, 2], 64);
        let builder = builder.tcp(1000, 2000, sequence, 65_535);
        let builder = if syn { builder.syn() } else { builder.ack(1) };
        let mut packet = Vec::new();
        builder.write(&mut packet, payload).unwrap();
        packet
    }

    #[test]
    fn offsets_count_from_the_latest_syn_and_wrap() {
        let mut connections = Connections::default();
        connections.note(&packet(5, true, &[]));
        connections.note(&packet(u32::MAX - 10, true, &[]));
        connections.note(&packet(u32::MAX - 9, false, &[0; 100]));
        let segment = connections.segment(&packet(90, false, &[0; 70])).unwrap();
        assert_eq!(
            segment,
            Segment {
                source_port: 1000,
                destination_port: 2000,
                syn: false,
                sequence: 90,
                payload_bytes: 70,
                stream_offset: Some(100),
            }
        );
        let syn = connections.segment(&packet(u32::MAX - 10, true, &[])).unwrap();
        assert_eq!((syn.syn, syn.stream_offset), (true, Some(0)));
    }

    #[test]
    fn without_a_syn_there_is_no_offset() {
        let segment = Connections::default().segment(&packet(90, false, &[])).unwrap();
        assert_eq!(segment.stream_offset, None);
    }

    #[test]
    fn what_is_no_tcp_has_no_segment() {
        let mut udp = Vec::new();
        PacketBuilder::ipv4([10, 75, 0, 1], [10, 75, 0, 2], 64)
            .udp(1000, 2000)
            .write(&mut udp, &[1])
            .unwrap();
        let tcp = packet(90, false, &[]);
        for packet in [&udp[..], &tcp[..30], &[]] {
            assert_eq!(Connections::default().segment(packet), None);
        }
    }
}
