//! What happens next: a heap of times, one for each source of events.

use kirikae_path::Time;

/// Bits of a key that name the source; the sequence number has the 40 above, enough for a day of
/// computing.
const SOURCE_BITS: u32 = 24;

/// A source's place while it is not in the heap.
const NOWHERE: u32 = u32::MAX;

/// The next event of each source, in a total order: by time, and at the same time in the order in
/// which they were scheduled.
///
/// A source (a link's direction, a flow) has at most one event in the queue. One that is wanted
/// later than it stands there is left alone: when it comes up too early, its source finds nothing
/// to do and says when it is due. So a timer that every ACK re-arms costs nothing until it would
/// have gone off.
///
/// It is an indexed binary heap. A binary heap with stale entries, indexed heaps of arity 4 and 8, a
/// winner tree and a calendar queue are slower for 4 to 3,000 sources (11 to 50 ns an event); for
/// 30,000 the winner tree is 2 % faster.
pub(crate) struct EventQueue {
    heap: Vec<Key>,
    /// Where each source stands in the heap.
    places: Vec<u32>,
    /// How often anything was scheduled.
    sequence: u64,
    now: Time,
}

/// From the highest bit down: 64 bits of time in nanoseconds, 40 of sequence number, 24 of source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    fn new(at: Time, sequence: u64, source: u32) -> Key {
        assert!(sequence >> (u64::BITS - SOURCE_BITS) == 0, "too many events");
        let order = sequence << SOURCE_BITS | u64::from(source);
        Key(u128::from(at.as_nanos()) << 64 | u128::from(order))
    }

    fn at(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    fn source(self) -> usize {
        self.0 as usize & ((1 << SOURCE_BITS) - 1)
    }
}

impl EventQueue {
    /// An empty queue for sources numbered from 0.
    ///
    /// # Panics
    /// If there are more than 16 million.
    pub fn new(sources: usize) -> EventQueue {
        assert!(sources < 1 << SOURCE_BITS, "{sources} sources of events");
        EventQueue {
            heap: Vec::with_capacity(sources),
            places: vec![NOWHERE; sources],
            sequence: 0,
            now: Time::ZERO,
        }
    }

    /// The first event's time and source; it stays in the queue until [`settle`](Self::settle).
    pub fn first(&mut self) -> Option<(Time, usize)> {
        let first = *self.heap.first()?;
        assert!(first.at() >= self.now, "time went back from {} to {}", self.now, first.at());
        self.now = first.at();
        Some((first.at(), first.source()))
    }

    /// The first event has been dealt with; its source's next one is at `next`. Whatever was armed
    /// in between comes after the first, which therefore still is the first.
    pub fn settle(&mut self, next: Option<Time>) {
        let source = self.heap[0].source();
        match next {
            Some(at) => {
                let key = self.key(at, source);
                self.sink(0, key);
            }
            None => {
                self.places[source] = NOWHERE;
                let last = self.heap.pop().expect("there is a first");
                if !self.heap.is_empty() {
                    self.sink(0, last);
                }
            }
        }
    }

    /// A source has something to do at `at`, and perhaps nothing before: it will come up then, or
    /// earlier if it stands earlier in the queue.
    pub fn arm(&mut self, source: usize, at: Time) {
        match self.places[source] {
            NOWHERE => {
                let key = self.key(at, source);
                self.heap.push(key);
                self.rise(self.heap.len() - 1, key);
            }
            place if at < self.heap[place as usize].at() => {
                let key = self.key(at, source);
                self.rise(place as usize, key);
            }
            _ => {}
        }
    }

    fn key(&mut self, at: Time, source: usize) -> Key {
        assert!(at >= self.now, "an event for {at} at {}", self.now);
        self.sequence += 1;
        Key::new(at, self.sequence, source as u32)
    }

    /// Puts `key` where the hole at `place` rises to.
    fn rise(&mut self, mut place: usize, key: Key) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent] < key {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, key);
    }

    /// Puts `key` where the hole at `place` sinks to.
    fn sink(&mut self, mut place: usize, key: Key) {
        while let Some(&left) = self.heap.get(2 * place + 1) {
            let (child, least) = match self.heap.get(2 * place + 2) {
                Some(&right) if right < left => (2 * place + 2, right),
                _ => (2 * place + 1, left),
            };
            if key < least {
                break;
            }
            self.put(place, least);
            place = child;
        }
        self.put(place, key);
    }

    fn put(&mut self, place: usize, key: Key) {
        self.heap[place] = key;
        self.places[key.source()] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    /// Takes everything out.
    fn drain(queue: &mut EventQueue) -> Vec<(u64, usize)> {
        std::iter::from_fn(|| {
            let (time, source) = queue.first()?;
            queue.settle(None);
            Some((time.as_nanos(), source))
        })
        .collect()
    }

    #[test]
    fn simultaneous_events_come_in_the_order_in_which_they_were_armed() {
        let mut queue = EventQueue::new(5);
        for (source, time) in [(3, 7), (1, 7), (4, 2), (0, 7), (2, 7)] {
            queue.arm(source, at(time));
        }
        assert_eq!(drain(&mut queue), [(2, 4), (7, 3), (7, 1), (7, 0), (7, 2)]);
    }

    #[test]
    fn a_source_comes_up_at_the_earliest_time_it_was_armed_for() {
        let mut queue = EventQueue::new(2);
        queue.arm(0, at(5));
        queue.arm(1, at(6));
        queue.arm(0, at(9));
        queue.arm(1, at(3));
        assert_eq!(drain(&mut queue), [(3, 1), (5, 0)]);
    }

    #[test]
    fn the_first_stays_first_while_others_are_armed() {
        let mut queue = EventQueue::new(3);
        queue.arm(2, at(5));
        assert_eq!(queue.first(), Some((at(5), 2)));
        queue.arm(0, at(5));
        queue.arm(2, at(5));
        queue.settle(Some(at(5)));
        assert_eq!(drain(&mut queue), [(5, 0), (5, 2)]);
    }

    #[test]
    #[should_panic(expected = "an event for")]
    fn an_event_in_the_past_panics() {
        let mut queue = EventQueue::new(2);
        queue.arm(0, at(5));
        queue.first();
        queue.arm(1, at(4));
    }

    proptest! {
        /// Against a list that is searched for the least (time, sequence).
        #[test]
        fn agrees_with_a_list(operations in prop::collection::vec((0..20usize, 0..50u64, any::<bool>()), 1..300)) {
            let mut queue = EventQueue::new(20);
            let mut list: Vec<Option<(u64, u64)>> = vec![None; 20];
            let mut now = 0;
            for (sequence, (source, delta, take)) in (0..).zip(operations) {
                if !take {
                    queue.arm(source, at(now + delta));
                    if list[source].is_none_or(|(time, _)| now + delta < time) {
                        list[source] = Some((now + delta, sequence));
                    }
                    continue;
                }
                let least = (0..20).filter_map(|source| Some((list[source]?, source))).min();
                let first = queue.first().map(|(time, source)| (time.as_nanos(), source));
                prop_assert_eq!(first, least.map(|((time, _), source)| (time, source)));
                if let Some((time, first)) = first {
                    now = time;
                    let next = (delta % 2 == 0).then_some(now + delta);
                    queue.settle(next.map(at));
                    list[first] = next.map(|next| (next, sequence));
                }
            }
        }
    }
}
