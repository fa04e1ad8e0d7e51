//! The queue before a link: its order, limit, marks, and early drops. The link takes packets from it.

use std::collections::VecDeque;
use std::ops::Add;

use serde::Serialize;

use crate::check::{Unfit, check};
use crate::codel::CoDel;
use crate::{CoDelSpec, Packet, Time};

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

impl QueueLimit {
    /// Whether so many bytes more fit beside what waits.
    pub(crate) fn fits(self, waiting: Waiting, bytes: u32) -> bool {
        match self {
            QueueLimit::Packets(limit) => waiting.packets < limit,
            QueueLimit::Bytes(limit) => waiting.bytes + u64::from(bytes) <= limit,
        }
    }
}

/// A queue: drop-tail, and additions to it. Every addition may be combined with every other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueSpec {
    /// A packet that would exceed it is dropped. 0 means that nothing waits.
    pub limit: QueueLimit,
    /// An ECN-capable packet that would exceed this on arrival is marked (RFC 8257, section 3.1, with the
    /// threshold K). Packets that are not ECN-capable are not affected.
    pub mark: Option<QueueLimit>,
    /// CoDel, which drops or marks packets that leave the queue after too long a wait.
    pub codel: Option<CoDelSpec>,
    /// Periodic reordering. If more packets than this wait when one is to be sent, and no moved packet waits,
    /// the one at the head moves so many places back (Fukuda, Evaluation of TCP under periodic packet
    /// reordering, 2019: the reorder interval RI). At least 1.
    pub reorder_interval: Option<u32>,
}

impl QueueSpec {
    /// A drop-tail queue without additions.
    pub fn drop_tail(limit: QueueLimit) -> QueueSpec {
        QueueSpec { limit, mark: None, codel: None, reorder_interval: None }
    }

    pub(crate) fn check(&self) -> Result<(), Unfit> {
        self.codel.map_or(Ok(()), |codel| codel.check()).map_err(|unfit| unfit.within("codel"))?;
        check(self.reorder_interval != Some(0), "reorder-interval", 0, "at least 1")
    }
}

/// How much waits in queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Number of packets, cross traffic included.
    pub packets: u64,
    /// Their bytes (IP length).
    pub bytes: u64,
}

impl Add for Waiting {
    type Output = Waiting;

    fn add(self, other: Waiting) -> Waiting {
        Waiting { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// Packets that wait, and since when.
#[derive(Debug)]
pub(crate) struct Queue<P> {
    limit: QueueLimit,
    mark: Option<QueueLimit>,
    codel: Option<CoDel>,
    reorder: Option<Reorder>,
    waiting: VecDeque<(Time, Packet<P>)>,
    bytes: u64,
}

impl<P> Queue<P> {
    pub fn new(spec: &QueueSpec) -> Queue<P> {
        Queue {
            limit: spec.limit,
            mark: spec.mark,
            codel: spec.codel.map(CoDel::new),
            reorder: spec
                .reorder_interval
                .map(|interval| Reorder { interval: interval as usize, before_moved: None }),
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Takes the packet, or returns it if the queue is full.
    pub fn enqueue(&mut self, now: Time, mut packet: Packet<P>) -> Result<(), Packet<P>> {
        if !self.limit.fits(self.waiting(), packet.bytes) {
            return Err(packet);
        }
        if self.mark.is_some_and(|threshold| !threshold.fits(self.waiting(), packet.bytes)) {
            packet.mark();
        }
        self.bytes += u64::from(packet.bytes);
        self.waiting.push_back((now, packet));
        Ok(())
    }

    /// Takes out the next packet to send; packets that are dropped before it go to `dropped`.
    #[inline]
    pub fn dequeue(&mut self, now: Time, mut dropped: impl FnMut(Packet<P>)) -> Option<Packet<P>> {
        loop {
            let Some((since, mut packet)) = self.pop() else {
                if let Some(codel) = &mut self.codel {
                    codel.empty();
                }
                return None;
            };
            let Some(codel) = &mut self.codel else { return Some(packet) };
            if !codel.drops(now, packet.bytes, now - since, self.bytes)
                || codel.marks() && packet.mark()
            {
                return Some(packet);
            }
            dropped(packet);
        }
    }

    /// Takes out everything that waits, in order, as far as the iterator is used.
    pub fn take_all(&mut self) -> impl Iterator<Item = Packet<P>> {
        std::iter::from_fn(|| self.pop().map(|(_, packet)| packet))
    }

    /// How much waits.
    pub fn waiting(&self) -> Waiting {
        Waiting { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, Packet<P>)> {
        if let Some(reorder) = &mut self.reorder {
            reorder.before_sending(&mut self.waiting);
        }
        let (since, packet) = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some((since, packet))
    }
}

/// Periodic reordering.
#[derive(Debug)]
struct Reorder {
    interval: usize,
    /// How many packets are before the moved one, while it waits.
    before_moved: Option<usize>,
}

impl Reorder {
    /// Is called each time before the head is taken out.
    fn before_sending<T>(&mut self, waiting: &mut VecDeque<T>) {
        if self.before_moved.is_none() && waiting.len() > self.interval {
            let head = waiting.pop_front().expect("more than the interval are waiting");
            waiting.insert(self.interval, head);
            self.before_moved = Some(self.interval);
        }
        self.before_moved = self.before_moved.and_then(|before| before.checked_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, Span};

    fn packet(number: u64, bytes: u32, ecn: Ecn) -> Packet<()> {
        Packet { number, bytes, ecn, payload: () }
    }

    /// A queue of the packets with these numbers, of 1000 bytes each.
    fn filled(spec: &QueueSpec, numbers: std::ops::Range<u64>, ecn: Ecn) -> Queue<()> {
        let mut queue = Queue::new(spec);
        for number in numbers {
            queue.enqueue(Time::ZERO, packet(number, 1000, ecn)).unwrap();
        }
        queue
    }

    fn sent(queue: &mut Queue<()>, now: Time) -> Vec<Packet<()>> {
        let drops = |packet| panic!("{packet:?} dropped");
        std::iter::from_fn(|| queue.dequeue(now, drops)).collect()
    }

    fn numbers(packets: &[Packet<()>]) -> Vec<u64> {
        packets.iter().map(|packet| packet.number).collect()
    }

    const LARGE: QueueLimit = QueueLimit::Packets(1000);

    #[test]
    fn reordering_goes_as_in_the_papers_figure() {
        // This is figure 2: 10 to 20 wait, RI = 4. Packet 10 moves behind 14. Once it is sent, 15 to 20 wait
        // and 15 moves behind 19. Then only 20 is left.
        let spec = QueueSpec { reorder_interval: Some(4), ..QueueSpec::drop_tail(LARGE) };
        let mut queue = filled(&spec, 10..21, Ecn::NotEct);
        let order = numbers(&sent(&mut queue, Time::ZERO));
        assert_eq!(order, [11, 12, 13, 14, 10, 16, 17, 18, 19, 15, 20]);
    }

    #[test]
    fn as_many_packets_as_the_interval_are_not_reordered() {
        let spec = QueueSpec { reorder_interval: Some(4), ..QueueSpec::drop_tail(LARGE) };
        assert_eq!(numbers(&sent(&mut filled(&spec, 0..4, Ecn::NotEct), Time::ZERO)), [0, 1, 2, 3]);
        let five = numbers(&sent(&mut filled(&spec, 0..5, Ecn::NotEct), Time::ZERO));
        assert_eq!(five, [1, 2, 3, 4, 0]);
    }

    #[test]
    fn the_threshold_marks_what_can_be_marked() {
        for mark in [QueueLimit::Packets(3), QueueLimit::Bytes(3_999)] {
            let spec = QueueSpec { mark: Some(mark), ..QueueSpec::drop_tail(LARGE) };
            let marked = |ecn| -> Vec<u64> {
                let packets = sent(&mut filled(&spec, 0..6, ecn), Time::ZERO);
                let marked = packets.iter().filter(|packet| packet.ecn == Ecn::Ce);
                marked.map(|packet| packet.number).collect()
            };
            assert_eq!(marked(Ecn::Ect), [3, 4, 5]);
            assert_eq!(marked(Ecn::NotEct), []);
        }
    }

    #[test]
    fn codel_marks_where_it_may_and_drops_where_it_must() {
        let codel = CoDelSpec {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            mark: true,
        };
        let spec = QueueSpec { codel: Some(codel), ..QueueSpec::drop_tail(LARGE) };
        // The first look finds the wait above the target, the second an interval later.
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        for ecn in [Ecn::Ect, Ecn::NotEct] {
            let mut queue = filled(&spec, 0..10, ecn);
            let mut dropped = Vec::new();
            let mut next = |ms| queue.dequeue(at(ms), |packet| dropped.push(packet.number));
            assert_eq!(next(50), Some(packet(0, 1000, ecn)));
            if ecn == Ecn::Ect {
                assert_eq!(next(150), Some(packet(1, 1000, Ecn::Ce)));
                assert_eq!(dropped, []);
            } else {
                assert_eq!(next(150), Some(packet(2, 1000, ecn)));
                assert_eq!(dropped, [1]);
            }
        }
    }

    #[test]
    fn what_is_full_gives_the_packet_back() {
        let spec = QueueSpec::drop_tail(QueueLimit::Bytes(2_500));
        let mut queue = filled(&spec, 0..2, Ecn::Ect);
        let refused = packet(2, 501, Ecn::Ect);
        assert_eq!(queue.enqueue(Time::ZERO, refused), Err(refused));
        assert_eq!(queue.enqueue(Time::ZERO, packet(3, 500, Ecn::Ect)), Ok(()));
        assert_eq!(numbers(&queue.take_all().collect::<Vec<_>>()), [0, 1, 3]);
        assert_eq!(queue.enqueue(Time::ZERO, packet(4, 2_500, Ecn::Ect)), Ok(()));
    }
}
