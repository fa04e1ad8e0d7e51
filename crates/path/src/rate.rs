use std::collections::VecDeque;

use serde::Serialize;

use crate::{DropCause, Dropped, Element, Outcome, Packet, Span, Time};

/// How much may wait in a queue. As in Linux's pfifo and bfifo and in ns-3, the packet being
/// transmitted no longer waits and does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueLimit {
    /// So many packets of any size.
    Packets(u64),
    /// Packets of so many bytes in all (IP length).
    Bytes(u64),
}

/// A link of constant rate with a drop-tail queue before it.
///
/// A packet arriving at an idle link is transmitted at once; at a busy one it waits if it fits under
/// the limit and is dropped otherwise. It leaves when its last bit is sent.
#[derive(Debug)]
pub struct Rate<P> {
    bits_per_second: u64,
    limit: QueueLimit,
    /// The packet being transmitted, and when its last bit is sent.
    in_service: Option<(Time, Packet<P>)>,
    waiting: VecDeque<Packet<P>>,
    waiting_bytes: u64,
    /// What rounding to whole nanoseconds left over in this busy period, in bits times 10^9: carried
    /// into the next packet, so that a busy link keeps its rate exactly.
    carry: u64,
}

impl<P> Rate<P> {
    /// A link of this rate (at least 1 bit/s) with this limit to its queue; a limit of 0 means that
    /// nothing waits.
    pub fn new(bits_per_second: u64, limit: QueueLimit) -> Rate<P> {
        assert!(bits_per_second > 0, "a link has a rate");
        Rate {
            bits_per_second,
            limit,
            in_service: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            carry: 0,
        }
    }

    fn fits(&self, bytes: u32) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => (self.waiting.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.waiting_bytes + u64::from(bytes) <= limit,
        }
    }

    fn transmit(&mut self, now: Time, packet: Packet<P>) {
        let nanobits = u128::from(packet.bytes) * 8 * 1_000_000_000 + u128::from(self.carry);
        let rate = u128::from(self.bits_per_second);
        self.carry = (nanobits % rate) as u64;
        self.in_service = Some((now + Span::from_nanos((nanobits / rate) as u64), packet));
    }
}

impl<P> Element<P> for Rate<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        if self.in_service.is_none() {
            self.carry = 0;
            self.transmit(now, packet);
        } else if self.fits(packet.bytes) {
            self.waiting_bytes += u64::from(packet.bytes);
            self.waiting.push_back(packet);
        } else {
            return Outcome::Dropped(Dropped { packet, cause: DropCause::QueueFull });
        }
        Outcome::Held
    }

    fn next(&self) -> Option<Time> {
        self.in_service.as_ref().map(|(sent, _)| *sent)
    }

    fn dequeue(&mut self, now: Time) -> Outcome<P> {
        let Some((_, sent)) = self.in_service.take() else { return Outcome::Held };
        if let Some(packet) = self.waiting.pop_front() {
            self.waiting_bytes -= u64::from(packet.bytes);
            self.transmit(now, packet);
        }
        Outcome::Passed(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u64, bytes: u32) -> Packet<()> {
        Packet { number, bytes, payload: () }
    }

    /// Offers packets of these sizes all at time 0 and returns the numbers of those dropped and the
    /// number and time in nanoseconds of those sent.
    fn burst(mut rate: Rate<()>, sizes: &[u32]) -> (Vec<u64>, Vec<(u64, u64)>) {
        let (mut dropped, mut sent) = (Vec::new(), Vec::new());
        for (number, bytes) in (0..).zip(sizes) {
            if let Outcome::Dropped(drop) = rate.enqueue(Time::ZERO, packet(number, *bytes)) {
                assert_eq!(drop.cause, DropCause::QueueFull);
                dropped.push(drop.packet.number);
            }
        }
        while let Some(at) = rate.next() {
            let Outcome::Passed(packet) = rate.dequeue(at) else { panic!("a link only sends") };
            sent.push((packet.number, at.as_nanos()));
        }
        (dropped, sent)
    }

    #[test]
    fn a_packet_takes_its_serialisation_time() {
        // 1500 bytes at 10 Mb/s: 1.2 ms.
        let (_, sent) = burst(Rate::new(10_000_000, QueueLimit::Packets(9)), &[1500, 1500, 40]);
        assert_eq!(sent, [(0, 1_200_000), (1, 2_400_000), (2, 2_432_000)]);
    }

    #[test]
    fn limit_in_packets_counts_those_waiting() {
        // One in service, two waiting; the rest finds the queue full.
        let (dropped, sent) = burst(Rate::new(8_000, QueueLimit::Packets(2)), &[10; 5]);
        assert_eq!(dropped, [3, 4]);
        assert_eq!(sent.len(), 3);
    }

    #[test]
    fn limit_in_bytes_counts_those_waiting() {
        // In service 1000; waiting 1000 + 400; 200 would make 1600 and is dropped, 100 fits exactly.
        let sizes = [1000, 1000, 400, 200, 100, 1];
        let (dropped, sent) = burst(Rate::new(8_000, QueueLimit::Bytes(1500)), &sizes);
        assert_eq!(dropped, [3, 5]);
        assert_eq!(sent.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2, 4]);
    }

    #[test]
    fn with_a_limit_of_zero_nothing_waits() {
        for limit in [QueueLimit::Packets(0), QueueLimit::Bytes(0)] {
            let (dropped, sent) = burst(Rate::new(8_000, limit), &[10; 2]);
            assert_eq!((dropped, sent), (vec![1], vec![(0, 10_000_000)]));
        }
    }

    #[test]
    fn rounding_does_not_add_up() {
        // 100 bytes at 7 Mb/s take 114,285.714... ns; 7000 of them exactly 0.8 s.
        let (_, sent) = burst(Rate::new(7_000_000, QueueLimit::Packets(7000)), &[100; 7000]);
        assert_eq!(sent[0].1, 114_285);
        assert_eq!(sent[6999].1, 800_000_000);
    }

    #[test]
    fn an_idle_link_starts_anew() {
        let mut rate = Rate::new(3_000_000_000, QueueLimit::Packets(1));
        for start in [0, 1_000] {
            rate.enqueue(Time::from_nanos(start), packet(0, 1));
            let sent = rate.next().unwrap();
            assert_eq!(sent, Time::from_nanos(start + 2));
            rate.dequeue(sent);
            assert_eq!(rate.next(), None);
        }
    }
}
