//! Reads and sets the ECN field of IP packets (RFC 3168, section 5): it is read when a packet enters, and set
//! when it leaves.

use kirikae_path::Ecn;

/// The field's two bits, in the byte that holds them.
const CE: u8 = 0b11;

/// The field of an IP packet; [`Ecn::NotEct`] for anything else.
pub(crate) fn read(packet: &[u8]) -> Ecn {
    let bits = match *packet {
        [version, class, ..] if version >> 4 == 4 => class & CE,
        [version, class, ..] if version >> 4 == 6 => class >> 4 & CE,
        _ => 0,
    };
    match bits {
        0 => Ecn::NotEct,
        CE => Ecn::Ce,
        _ => Ecn::Ect,
    }
}

/// Sets CE in an IP packet, and corrects IPv4's checksum.
pub(crate) fn mark(packet: &mut [u8]) {
    match packet.first().map(|version| version >> 4) {
        Some(4) if packet.len() >= 20 => {
            let added = CE - (packet[1] & CE);
            packet[1] |= CE;
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            packet[10..12].copy_from_slice(&mended(checksum, u16::from(added)).to_be_bytes());
        }
        Some(6) if packet.len() >= 2 => packet[1] |= CE << 4,
        _ => {}
    }
}

/// The checksum of a header after `added` was added to one of its words: HC' = ~(~HC + ~m + m')
/// (RFC 1624, equation 3).
fn mended(checksum: u16, added: u16) -> u16 {
    let (sum, carried) = (!checksum).overflowing_add(added);
    !(sum + u16::from(carried))
}

#[cfg(test)]
mod tests {
    use etherparse::{IpEcn, Ipv4Header, PacketBuilder};

    use super::*;

    /// A packet with these two bits; the identification varies the checksum.
    fn ipv4(bits: u8, identification: u16) -> Vec<u8> {
        let mut header = Ipv4Header::new(8, 64, 17.into(), [10, 75, 0, 1], [10, 75, 0, 2]).unwrap();
        header.ecn = IpEcn::try_new(bits).unwrap();
        header.identification = identification;
        header.header_checksum = header.calc_header_checksum();
        let mut packet = Vec::new();
        header.write(&mut packet).unwrap();
        packet.extend([0; 8]);
        packet
    }

    #[test]
    fn ipv4_is_read_and_marked_with_its_checksum() {
        let fields = [0, 1, 2, 3].map(|bits| read(&ipv4(bits, 0)));
        assert_eq!(fields, [Ecn::NotEct, Ecn::Ect, Ecn::Ect, Ecn::Ce]);
        for bits in [1, 2] {
            for identification in 0..=u16::MAX {
                let mut packet = ipv4(bits, identification);
                mark(&mut packet);
                assert_eq!(packet, ipv4(3, identification));
            }
        }
    }

    #[test]
    fn ipv6_is_read_and_marked() {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(1000, 2000);
        builder.write(&mut packet, &[7; 3]).unwrap();
        assert_eq!(read(&packet), Ecn::NotEct);
        packet[1] |= 0b10 << 4;
        assert_eq!(read(&packet), Ecn::Ect);
        let before = packet.clone();
        mark(&mut packet);
        assert_eq!(read(&packet), Ecn::Ce);
        assert_eq!((packet[0], &packet[2..]), (before[0], &before[2..]));
    }

    #[test]
    fn what_is_no_ip_is_left_alone() {
        assert_eq!(read(&[]), Ecn::NotEct);
        for packet in [vec![], vec![0x45], vec![0x45, 1, 0, 0], vec![0x15; 20]] {
            let mut marked = packet.clone();
            mark(&mut marked);
            assert_eq!(marked, packet);
        }
    }
}
