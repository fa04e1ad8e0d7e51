//! A link and the queue before it: the bottleneck of a path.

use std::collections::VecDeque;

use crate::cross_traffic::CrossTraffic;
use crate::queue::Queue;
use crate::rate::Service;
use crate::retries::Retries;
use crate::{
    CrossTrafficSpec, DropCause, Dropped, Ecn, Element, Outcome, Packet, QueueSpec, RetrySpec,
    Time, Waiting, stream_seed,
};

/// A link with a queue before it.
///
/// A packet arriving at an idle link is transmitted at once; at a busy one it waits, or is dropped
/// if it does not fit. It leaves when its last bit is sent, or its last retry's. Cross traffic does
/// the same and vanishes; with it, there is always an event to come.
#[derive(Debug)]
pub(crate) struct Link<P, S> {
    service: S,
    /// Bytes of a frame around each packet.
    overhead: u32,
    /// The queue; packets of cross traffic have no payload.
    queue: Queue<Option<P>>,
    in_service: Option<InService<P>>,
    retries: Option<Retries>,
    cross: Option<CrossTraffic>,
    /// Packets dropped while the packet in service was chosen, which are still to be reported.
    dropped: VecDeque<Packet<P>>,
    /// When that packet was chosen.
    chosen: Time,
}

#[derive(Debug)]
struct InService<P> {
    done: Time,
    packet: Packet<Option<P>>,
    passes: bool,
}

impl<P, S: Service> Link<P, S> {
    /// A link that sends as `service` says.
    pub fn new(service: S, queue: &QueueSpec) -> Link<P, S> {
        let (in_service, dropped) = (None, VecDeque::new());
        let (retries, cross) = (None, None);
        let queue = Queue::new(queue);
        let chosen = Time::ZERO;
        Link { service, overhead: 0, queue, in_service, retries, cross, dropped, chosen }
    }

    /// The same link with frames that are so many bytes longer than their packets.
    pub fn framed(mut self, overhead: u32) -> Link<P, S> {
        self.overhead = overhead;
        self
    }

    /// The same link with cross traffic, if there is any.
    pub fn shared(mut self, cross: Option<CrossTrafficSpec>, seed: u64) -> Link<P, S> {
        self.cross = cross.map(|cross| CrossTraffic::new(cross, stream_seed(seed, &[1])));
        self
    }

    /// The same link with frames that may be lost, if they may.
    pub fn retrying(mut self, retries: Option<RetrySpec>, seed: u64) -> Link<P, S> {
        self.retries = retries.map(|retries| Retries::new(retries, stream_seed(seed, &[0])));
        self
    }

    /// Takes out the next packet in it before its time.
    pub fn take(&mut self) -> Option<Packet<P>> {
        let told_late = self.dropped.pop_front();
        told_late.or_else(|| {
            let in_service = self.in_service.take().and_then(|sent| own(sent.packet));
            in_service.or_else(|| self.queue.take_all().find_map(own))
        })
    }

    /// Sends the packet or keeps it; returns it if there is no room.
    fn accept(&mut self, now: Time, packet: Packet<Option<P>>) -> Result<(), Packet<Option<P>>> {
        if self.in_service.is_some() {
            return self.queue.enqueue(now, packet);
        }
        self.transmit(now, packet);
        Ok(())
    }

    fn transmit(&mut self, now: Time, packet: Packet<Option<P>>) {
        let (frames, passes) = match &mut self.retries {
            // Frames of cross traffic come over a radio of their own, or none.
            Some(retries) if packet.payload.is_some() => retries.frames(),
            _ => (1, true),
        };
        let frame = u64::from(packet.bytes) + u64::from(self.overhead);
        let done = self.service.transmit(now, frame * u64::from(frames));
        self.in_service = Some(InService { done, packet, passes });
    }

    fn transmit_next(&mut self, now: Time) {
        let dropped = &mut self.dropped;
        let next = self.queue.dequeue(now, |packet| dropped.extend(own(packet)));
        self.chosen = now;
        if let Some(packet) = next {
            self.transmit(now, packet);
        }
    }

    fn arrive_from_others(&mut self, now: Time) {
        if let Some(cross) = &mut self.cross {
            let bytes = cross.arrive();
            let packet = Packet { number: 0, bytes, ecn: Ecn::NotEct, payload: None };
            // If there is no room, the packet of cross traffic is dropped without a report.
            let _ = self.accept(now, packet);
        }
    }
}

/// The packet, if it belongs to the path.
fn own<P>(packet: Packet<Option<P>>) -> Option<Packet<P>> {
    let Packet { number, bytes, ecn, payload } = packet;
    payload.map(|payload| Packet { number, bytes, ecn, payload })
}

impl<P, S: Service> Element<P> for Link<P, S> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        match self.accept(now, packet.map(Some)) {
            Ok(()) => Outcome::Held,
            Err(packet) => dropped(packet, DropCause::QueueFull),
        }
    }

    fn next(&self) -> Option<Time> {
        if !self.dropped.is_empty() {
            return Some(self.chosen);
        }
        let done = self.in_service.as_ref().map(|sent| sent.done);
        let cross = self.cross.as_ref().map(CrossTraffic::next);
        done.into_iter().chain(cross).min()
    }

    fn dequeue(&mut self, now: Time) -> Outcome<P> {
        if let Some(packet) = self.dropped.pop_front() {
            return Outcome::Dropped(Dropped { packet, cause: DropCause::CoDel });
        }
        // This comes before arrivals, so that there is room for them.
        let Some(sent) = self.in_service.take_if(|sent| sent.done <= now) else {
            self.arrive_from_others(now);
            return Outcome::Held;
        };
        self.transmit_next(now);
        if sent.passes {
            own(sent.packet).map_or(Outcome::Held, Outcome::Passed)
        } else {
            dropped(sent.packet, DropCause::RetriesExhausted)
        }
    }

    fn waiting(&self) -> Waiting {
        self.queue.waiting()
    }
}

fn dropped<P>(packet: Packet<Option<P>>, cause: DropCause) -> Outcome<P> {
    own(packet).map_or(Outcome::Held, |packet| Outcome::Dropped(Dropped { packet, cause }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CoDelSpec, GilbertElliottSpec, LinkSpec, QueueLimit, RateSpec, Span};

    /// A link of 8 kb/s, on which a byte takes 1 ms.
    fn slow(queue: QueueSpec) -> LinkSpec {
        LinkSpec::new(RateSpec::Constant(8_000), queue)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// The fates of packets that arrive at these milliseconds and have these lengths: when, which, and why if
    /// it was lost. A link with cross traffic is watched until the last packet is out.
    fn fates(spec: &LinkSpec, arrivals: &[(u64, u32)]) -> Vec<(u64, u64, Option<DropCause>)> {
        let mut link = spec.build(1);
        let expected = arrivals.len();
        let mut arrivals = (0..).zip(arrivals).peekable();
        let mut fates = Vec::new();
        while fates.len() < expected {
            let due = link.next();
            let (now, outcome) = match arrivals.peek() {
                Some((_, (ms, _))) if due.is_none_or(|due| at(*ms) < due) => {
                    let (number, (ms, bytes)) = arrivals.next().unwrap();
                    (at(*ms), link.enqueue(at(*ms), Packet::test(number, *bytes)))
                }
                _ => {
                    let due = due.expect("packets are inside");
                    (due, link.dequeue(due))
                }
            };
            let ms = now.as_nanos() / 1_000_000;
            match outcome {
                Outcome::Held => {}
                Outcome::Passed(packet) => fates.push((ms, packet.number, None)),
                Outcome::Dropped(drop) => fates.push((ms, drop.packet.number, Some(drop.cause))),
            }
        }
        fates
    }

    /// The numbers of the packets that are dropped, and of those that are sent.
    fn burst(limit: QueueLimit, sizes: &[u32]) -> (Vec<u64>, Vec<u64>) {
        let arrivals: Vec<(u64, u32)> = sizes.iter().map(|bytes| (0, *bytes)).collect();
        let fates = fates(&slow(QueueSpec::drop_tail(limit)), &arrivals);
        let (sent, dropped): (Vec<_>, Vec<_>) =
            fates.into_iter().partition(|(_, _, cause)| cause.is_none());
        assert!(dropped.iter().all(|(_, _, cause)| *cause == Some(DropCause::QueueFull)));
        let numbers = |fates: Vec<(u64, u64, _)>| fates.into_iter().map(|fate| fate.1).collect();
        (numbers(dropped), numbers(sent))
    }

    #[test]
    fn frames_take_longer_than_their_packets() {
        // Packets of 10 and 20 bytes are in frames of 5 bytes more; the queue has room for 20, which counts
        // packets alone.
        let queue = QueueSpec::drop_tail(QueueLimit::Bytes(20));
        let framed = LinkSpec { overhead: 5, ..slow(queue) };
        assert_eq!(fates(&framed, &[(0, 10), (0, 20)]), [(15, 0, None), (40, 1, None)]);
    }

    #[test]
    fn limit_in_packets_counts_those_waiting() {
        // One is in service and two wait; the others find the queue full.
        let (dropped, sent) = burst(QueueLimit::Packets(2), &[10; 5]);
        assert_eq!((dropped, sent), (vec![3, 4], vec![0, 1, 2]));
    }

    #[test]
    fn limit_in_bytes_counts_those_waiting() {
        // 1000 bytes are in service; 1000 + 400 wait. 200 more would be 1600 and are dropped; 100 fit
        // exactly.
        let (dropped, sent) = burst(QueueLimit::Bytes(1500), &[1000, 1000, 400, 200, 100, 1]);
        assert_eq!((dropped, sent), (vec![3, 5], vec![0, 1, 2, 4]));
    }

    #[test]
    fn with_a_limit_of_zero_nothing_waits() {
        for limit in [QueueLimit::Packets(0), QueueLimit::Bytes(0)] {
            assert_eq!(burst(limit, &[10; 2]), (vec![1], vec![0]));
        }
    }

    #[test]
    fn retries_occupy_the_link() {
        // The channel turns bad for ever with its first frame: the first packet takes 10 ms. Those behind it
        // take four frames each, and are lost.
        let channel = GilbertElliottSpec { p: 1.0, r: 0.0, k: 1.0, h: 0.0 };
        let retries = Some(RetrySpec { channel, limit: 3 });
        let queue = QueueSpec::drop_tail(QueueLimit::Packets(9));
        let lost = Some(DropCause::RetriesExhausted);
        assert_eq!(
            fates(&LinkSpec { retries, ..slow(queue) }, &[(0, 10), (0, 10), (5, 20)]),
            [(10, 0, None), (50, 1, lost), (130, 2, lost)]
        );
    }

    #[test]
    fn cross_traffic_takes_its_part_of_link_and_queue() {
        // Cross traffic sends 10 bytes every 20 ms from 0 on: half the link.
        let cross =
            Some(CrossTrafficSpec { bits_per_second: 4_000, packet_bytes: 10, turns: None });
        let shared = |limit| LinkSpec { cross, ..slow(QueueSpec::drop_tail(limit)) };
        let arrivals = [(1, 10), (2, 10), (3, 10), (4, 10)];
        assert_eq!(
            // Its packets come at 0, 20 and 40, the latter two behind 3 and 2 of ours.
            fates(&shared(QueueLimit::Packets(9)), &arrivals),
            [(20, 0, None), (30, 1, None), (40, 2, None), (50, 3, None)]
        );
        // With room for two, its third and fourth packets find ours waiting.
        let full = Some(DropCause::QueueFull);
        assert_eq!(
            fates(&shared(QueueLimit::Packets(2)), &arrivals),
            [(3, 2, full), (4, 3, full), (20, 0, None), (30, 1, None)]
        );
    }

    #[test]
    fn what_others_take_is_missing() {
        // We send at the link's full rate, cross traffic at half of it. Its packets come just when a packet
        // has left, so that all of them find room.
        let cross =
            Some(CrossTrafficSpec { bits_per_second: 4_000, packet_bytes: 10, turns: None });
        let spec = LinkSpec { cross, ..slow(QueueSpec::drop_tail(QueueLimit::Packets(5))) };
        let arrivals: Vec<(u64, u32)> = (0..1000).map(|n| (10 * n + 1, 10)).collect();
        let fates = fates(&spec, &arrivals);
        let sent = fates.iter().filter(|(_, _, cause)| cause.is_none()).count();
        // There are 500 of its and 500 of our packets in 10 s, and those that wait at the end.
        assert!((500..=506).contains(&sent), "{sent}");
    }

    #[test]
    fn codel_drops_are_told_when_the_next_is_chosen() {
        // 10 ms a packet and 40 at once: packet 2 is looked at after 20 ms, the first above the
        // target. 100 ms later one is dropped, then 100/sqrt(1) and 100/sqrt(2) ms later or at the
        // next look, each told as the packet before it leaves. A drop moves the numbers on by one.
        let codel = CoDelSpec {
            target: Span::from_millis(15),
            interval: Span::from_millis(100),
            mark: false,
        };
        let queue =
            QueueSpec { codel: Some(codel), ..QueueSpec::drop_tail(QueueLimit::Packets(100)) };
        let fates = fates(&slow(queue), &[(0, 10); 40]);
        let drops: Vec<(u64, u64)> = fates
            .iter()
            .filter(|(_, _, cause)| *cause == Some(DropCause::CoDel))
            .map(|(ms, number, _)| (*ms, *number))
            .collect();
        assert_eq!(drops[..3], [(120, 12), (220, 23), (300, 32)]);
        assert!(fates.is_sorted_by_key(|(ms, _, _)| *ms));
    }
}
