//! A link that drops what is larger than its MTU and tells nobody: the black hole of path MTU discovery (RFC 2923,
//! section 2.1).

use crate::{DropCause, Dropped, Element, Outcome, Packet, Time};

/// Packets above a size are lost, and no ICMP says so.
///
/// Nothing is cut into fragments: TCP forbids it by the DF bit (RFC 1191), and so do all packets of IPv6.
#[derive(Debug)]
pub struct Mtu {
    bytes: u32,
}

impl Mtu {
    /// Passes packets of so many bytes and less.
    pub fn new(bytes: u32) -> Mtu {
        Mtu { bytes }
    }
}

impl<P> Element<P> for Mtu {
    fn enqueue(&mut self, _now: Time, packet: Packet<P>) -> Outcome<P> {
        if packet.bytes > self.bytes {
            Outcome::Dropped(Dropped { packet, cause: DropCause::TooLarge })
        } else {
            Outcome::Passed(packet)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_is_lost_and_nothing_else() {
        let mut link = Mtu::new(1500);
        for (number, bytes) in [40, 1500, 1501, 9000, 1499].into_iter().enumerate() {
            let packet = Packet::test(number as u64, bytes);
            let expected = match bytes {
                ..=1500 => Outcome::Passed(packet),
                _ => Outcome::Dropped(Dropped { packet, cause: DropCause::TooLarge }),
            };
            assert_eq!(link.enqueue(Time::ZERO, packet), expected);
        }
    }
}
