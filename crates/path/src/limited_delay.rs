use crate::{Delay, DropCause, Dropped, Element, Outcome, Packet, QueueLimit, Span, Time, Waiting};

/// A [`Delay`] that holds only so much at once, and drops the rest. This is what limits a path through
/// Linux's netem, whose `limit` counts the packets that it delays (tc-netem(8)).
#[derive(Debug)]
pub struct LimitedDelay<P> {
    delay: Delay<P>,
    limit: QueueLimit,
    held: Waiting,
}

impl<P> LimitedDelay<P> {
    /// A delay of this length, with this limit.
    pub fn new(delay: Span, limit: QueueLimit) -> LimitedDelay<P> {
        LimitedDelay { delay: Delay::new(delay), limit, held: Waiting::default() }
    }
}

impl<P> Element<P> for LimitedDelay<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        if !self.limit.fits(self.held, packet.bytes) {
            return Outcome::Dropped(Dropped { packet, cause: DropCause::QueueFull });
        }
        self.held = self.held + Waiting { packets: 1, bytes: packet.bytes.into() };
        self.delay.enqueue(now, packet)
    }

    fn next(&self) -> Option<Time> {
        self.delay.next()
    }

    fn least_delay(&self) -> Span {
        self.delay.least_delay()
    }

    fn dequeue(&mut self, now: Time) -> Outcome<P> {
        let outcome = self.delay.dequeue(now);
        if let Outcome::Passed(packet) = &outcome {
            self.held.packets -= 1;
            self.held.bytes -= u64::from(packet.bytes);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends ten packets of 1000 bytes, one each 10 ns, each under way for 35 ns; returns the numbers of
    /// those that pass.
    fn passes(limit: QueueLimit) -> Vec<u64> {
        let mut delay = LimitedDelay::new(Span::from_nanos(35), limit);
        let mut passed = Vec::new();
        for number in 0..10 {
            let now = Time::from_nanos(10 * number);
            while let Some(at) = delay.next().filter(|at| *at <= now) {
                assert!(matches!(delay.dequeue(at), Outcome::Passed(_)));
            }
            match delay.enqueue(now, Packet::test(number, 1000)) {
                Outcome::Dropped(Dropped { cause: DropCause::QueueFull, .. }) => {}
                Outcome::Held => passed.push(number),
                other => panic!("{other:?}"),
            }
        }
        passed
    }

    #[test]
    fn what_does_not_fit_beside_what_is_under_way_is_dropped() {
        assert_eq!(passes(QueueLimit::Packets(4)), Vec::from_iter(0..10));
        assert_eq!(passes(QueueLimit::Packets(2)), [0, 1, 4, 5, 8, 9]);
        assert_eq!(passes(QueueLimit::Bytes(2999)), [0, 1, 4, 5, 8, 9]);
        assert_eq!(passes(QueueLimit::Bytes(3000)), [0, 1, 2, 4, 5, 6, 8, 9]);
    }
}
