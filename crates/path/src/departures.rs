//! Items that are under way, each with the time at which it leaves.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use crate::{Span, Time};

/// Whether packets whose delays differ may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A packet never leaves before one that arrived earlier: it waits for it.
    Kept,
    /// Each packet leaves at its own time.
    Free,
}

/// What is under way, in the order in which it leaves.
#[derive(Debug)]
pub(crate) enum Departures<T> {
    Kept(VecDeque<(Time, T)>),
    /// They leave by time, and at the same time in the order of arrival.
    Free {
        under_way: BTreeMap<(Time, u64), T>,
        arrived: u64,
    },
}

impl<T> Departures<T> {
    pub fn new(order: Order) -> Departures<T> {
        match order {
            Order::Kept => Departures::Kept(VecDeque::new()),
            Order::Free => Departures::Free { under_way: BTreeMap::new(), arrived: 0 },
        }
    }

    /// Lets `item` leave after `delay`, or with the one before it if order is kept and that one
    /// leaves later.
    pub fn push(&mut self, now: Time, delay: Span, item: T) {
        let at = now + delay;
        match self {
            Departures::Kept(under_way) => {
                let at = under_way.back().map_or(at, |(last, _)| at.max(*last));
                under_way.push_back((at, item));
            }
            Departures::Free { under_way, arrived } => {
                under_way.insert((at, *arrived), item);
                *arrived += 1;
            }
        }
    }

    /// When the next one leaves.
    pub fn next(&self) -> Option<Time> {
        match self {
            Departures::Kept(under_way) => under_way.front().map(|(at, _)| *at),
            Departures::Free { under_way, .. } => under_way.keys().next().map(|(at, _)| *at),
        }
    }

    /// Takes out the one that leaves next.
    pub fn pop(&mut self) -> Option<T> {
        match self {
            Departures::Kept(under_way) => under_way.pop_front().map(|(_, item)| item),
            Departures::Free { under_way, .. } => under_way.pop_first().map(|(_, item)| item),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What leaves and when, of items with these delays that arrive together at 10 ns.
    fn leave(order: Order, delays: &[u64]) -> Vec<(u64, usize)> {
        let mut departures = Departures::new(order);
        for (item, delay) in delays.iter().enumerate() {
            departures.push(Time::from_nanos(10), Span::from_nanos(*delay), item);
        }
        std::iter::from_fn(|| Some((departures.next()?.as_nanos(), departures.pop()?))).collect()
    }

    #[test]
    fn order_is_kept_by_waiting() {
        assert_eq!(leave(Order::Kept, &[5, 2, 7, 7]), [(15, 0), (15, 1), (17, 2), (17, 3)]);
    }

    #[test]
    fn without_order_each_leaves_at_its_own_time() {
        assert_eq!(leave(Order::Free, &[5, 2, 7, 2]), [(12, 1), (12, 3), (15, 0), (17, 2)]);
    }
}
