use crate::departures::{Departures, Order};
use crate::{Element, Outcome, Packet, Span, Time};

/// Constant delay: every packet leaves this long after it arrived, in order. Propagation.
#[derive(Debug)]
pub struct Delay<P> {
    delay: Span,
    packets: Departures<Packet<P>>,
}

impl<P> Delay<P> {
    /// A delay of this length; zero is allowed.
    pub fn new(delay: Span) -> Delay<P> {
        Delay { delay, packets: Departures::new(Order::Kept) }
    }

    /// The next packet under way, taken out before its time.
    pub(crate) fn take(&mut self) -> Option<Packet<P>> {
        self.packets.pop()
    }
}

impl<P> Element<P> for Delay<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        self.packets.push(now, self.delay, packet);
        Outcome::Held
    }

    fn next(&self) -> Option<Time> {
        self.packets.next()
    }

    fn least_delay(&self) -> Span {
        self.delay
    }

    fn dequeue(&mut self, _now: Time) -> Outcome<P> {
        self.packets.pop().map_or(Outcome::Held, Outcome::Passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_in_order_after_the_delay() {
        let mut delay = Delay::new(Span::from_nanos(100));
        for (number, at) in [(0, 0), (1, 30), (2, 30)] {
            let packet = Packet::test(number, 1500);
            assert_eq!(delay.enqueue(Time::from_nanos(at), packet), Outcome::Held);
        }
        for (number, at) in [(0, 100), (1, 130), (2, 130)] {
            assert_eq!(delay.next(), Some(Time::from_nanos(at)));
            let packet = Packet::test(number, 1500);
            assert_eq!(delay.dequeue(Time::from_nanos(at)), Outcome::Passed(packet));
        }
        assert_eq!(delay.next(), None);
    }
}
