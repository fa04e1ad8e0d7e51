//! The link under a connection is replaced by another, after a gap of silence (Tsukamoto, Fukuda, Hori, Oie,
//! 2003: TCP when the medium is switched, section 4).

use std::collections::VecDeque;

use serde::Serialize;

use crate::check::{self, Unfit, check};
use crate::link::Link;
use crate::rate::{Constant, Paced};
use crate::{Delay, DropCause, Dropped, Element, Outcome, Packet, QueueSpec, Span, Time, Waiting};

/// Links used one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkChangeSpec {
    /// The queue before each of them.
    pub queue: QueueSpec,
    /// The links in order of time. The first is in use from time 0 on, without silence.
    pub links: Vec<UsedLink>,
}

/// A link, and when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UsedLink {
    /// When the link before it ends, from the path's start.
    pub at: Time,
    /// How long there is no link after that.
    pub silence: Span,
    /// Its rate in bit/s; at least 1.
    pub bits_per_second: u64,
    /// Its propagation delay; at most a day.
    pub delay: Span,
}

impl LinkChangeSpec {
    /// The highest rate of the links, in bit/s.
    pub fn highest_rate(&self) -> u64 {
        self.links.iter().map(|link| link.bits_per_second).max().unwrap_or(0)
    }

    /// The shortest delay of the links.
    pub fn least_delay(&self) -> Span {
        self.links.iter().map(|link| link.delay).min().unwrap_or(Span::ZERO)
    }

    pub(crate) fn check(&self) -> Result<(), Unfit> {
        const FIELD: &str = "links";
        self.queue.check()?;
        let starts = self
            .links
            .first()
            .is_some_and(|link| link.at == Time::ZERO && link.silence == Span::ZERO);
        check(starts, FIELD, "no such link", "a first link at 0 s, without silence")?;
        for link in &self.links {
            check::rate(FIELD, link.bits_per_second)?;
            check::delay(FIELD, link.delay)?;
        }
        self.links.windows(2).try_for_each(|pair| {
            let later = pair[0].at + pair[0].silence < pair[1].at;
            check(later, FIELD, pair[1].at, "each change after the silence of the one before")
        })
    }
}

/// The links of a [`LinkChangeSpec`]. Packets that wait for a link or are under way on it are lost when it
/// ends, and so are those that arrive during the silence.
#[derive(Debug)]
pub struct LinkChange<P> {
    queue: QueueSpec,
    /// The link in use first, and those to come.
    links: Vec<UsedLink>,
    current: usize,
    link: Link<P, Paced<Constant>>,
    delay: Delay<P>,
    /// Packets lost with the last link, which are still to be reported.
    lost: VecDeque<Packet<P>>,
}

impl<P> LinkChange<P> {
    /// Makes the links of a description that [`PathSpec::validate`](crate::PathSpec::validate) accepts.
    pub fn new(spec: LinkChangeSpec) -> LinkChange<P> {
        let (link, delay) = Self::parts(&spec.queue, spec.links[0]);
        let LinkChangeSpec { queue, links } = spec;
        LinkChange { queue, links, current: 0, link, delay, lost: VecDeque::new() }
    }

    fn parts(queue: &QueueSpec, link: UsedLink) -> (Link<P, Paced<Constant>>, Delay<P>) {
        (Link::new(Paced::new(Constant(link.bits_per_second)), queue), Delay::new(link.delay))
    }

    fn change(&mut self) {
        self.lost.extend(std::iter::from_fn(|| self.delay.take()));
        self.lost.extend(std::iter::from_fn(|| self.link.take()));
        self.current += 1;
        (self.link, self.delay) = Self::parts(&self.queue, self.links[self.current]);
    }

    fn next_change(&self) -> Option<Time> {
        self.links.get(self.current + 1).map(|link| link.at)
    }
}

impl<P> Element<P> for LinkChange<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        let UsedLink { at, silence, .. } = self.links[self.current];
        if now < at + silence {
            return Outcome::Dropped(Dropped { packet, cause: DropCause::LinkChange });
        }
        self.link.enqueue(now, packet)
    }

    fn next(&self) -> Option<Time> {
        if !self.lost.is_empty() {
            return Some(self.links[self.current].at);
        }
        [self.delay.next(), self.link.next(), self.next_change()].into_iter().flatten().min()
    }

    fn dequeue(&mut self, now: Time) -> Outcome<P> {
        if let Some(packet) = self.lost.pop_front() {
            return Outcome::Dropped(Dropped { packet, cause: DropCause::LinkChange });
        }
        // A packet that leaves at the moment of the change has passed.
        if self.delay.next() == Some(now) {
            return self.delay.dequeue(now);
        }
        if self.link.next() == Some(now) {
            return match self.link.dequeue(now) {
                Outcome::Passed(packet) => self.delay.enqueue(now, packet),
                outcome => outcome,
            };
        }
        self.change();
        Outcome::Held
    }

    fn waiting(&self) -> Waiting {
        self.link.waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueLimit;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn link(at_ms: u64, silence: u64, bits_per_second: u64, delay: u64) -> UsedLink {
        let (silence, delay) = (Span::from_millis(silence), Span::from_millis(delay));
        UsedLink { at: at(at_ms), silence, bits_per_second, delay }
    }

    fn spec(links: &[UsedLink]) -> LinkChangeSpec {
        let queue = QueueSpec::drop_tail(QueueLimit::Packets(100));
        LinkChangeSpec { queue, links: links.to_vec() }
    }

    #[test]
    fn what_is_on_the_old_link_is_lost_and_the_new_one_is_as_described() {
        // 1000 bytes take 1 ms at 8 Mb/s and 10 ms at 0.8 Mb/s.
        let spec = spec(&[link(0, 0, 8_000_000, 5), link(100, 50, 800_000, 20)]);
        assert_eq!(spec.check(), Ok(()));
        assert_eq!((spec.highest_rate(), spec.least_delay()), (8_000_000, Span::from_millis(5)));
        let mut element = LinkChange::new(spec);
        let mut fates = Vec::new();
        let mut arrivals =
            [(0, 93), (1, 94), (2, 95), (3, 99), (4, 99), (5, 120), (6, 150), (7, 150)]
                .into_iter()
                .peekable();
        loop {
            let due = element.next();
            let outcome = match arrivals.peek() {
                Some((_, ms)) if due.is_none_or(|due| at(*ms) < due) => {
                    let (number, ms) = arrivals.next().unwrap();
                    (at(ms), element.enqueue(at(ms), Packet::test(number, 1000)))
                }
                _ => match due {
                    Some(due) => (due, element.dequeue(due)),
                    None => break,
                },
            };
            let ms = (outcome.0 - Time::ZERO).as_nanos() / 1_000_000;
            match outcome.1 {
                Outcome::Held => {}
                Outcome::Passed(packet) => fates.push((packet.number, ms, true)),
                Outcome::Dropped(dropped) => {
                    assert_eq!(dropped.cause, DropCause::LinkChange);
                    fates.push((dropped.packet.number, ms, false));
                }
            }
        }
        let expected = [
            (0, 99, true),
            // This packet arrives at the very end.
            (1, 100, true),
            // These are under way, just sent, and in service.
            (2, 100, false),
            (3, 100, false),
            (4, 100, false),
            // This one arrives during the silence.
            (5, 120, false),
            (6, 180, true),
            (7, 190, true),
        ];
        assert_eq!(fates, expected);
    }

    #[test]
    fn links_that_are_none_are_refused() {
        let first = link(0, 0, 1, 0);
        let refused = [
            vec![],
            vec![link(1, 0, 1, 0)],
            vec![link(0, 1, 1, 0)],
            vec![first, link(5, 0, 0, 0)],
            vec![first, link(5, 3, 1, 0), link(8, 0, 1, 0)],
            vec![first, link(5, 3, 1, 24 * 3_600_000 + 1)],
        ];
        for links in refused {
            assert_eq!(spec(&links).check().unwrap_err().field, "links", "{links:?}");
        }
    }
}
