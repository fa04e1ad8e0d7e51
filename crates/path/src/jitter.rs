use crate::departures::{Departures, Order};
use crate::{Element, Outcome, Packet, RandomStream, Span, Time};

/// Jittered delay: a packet takes the least delay and an addition, uniform from 0 to the jitter. Packets may
/// overtake each other, or wait for those before them.
///
/// One random number is taken for each packet that arrives.
#[derive(Debug)]
pub struct Jitter<P> {
    least: Span,
    jitter: Span,
    packets: Departures<Packet<P>>,
    random: RandomStream,
}

impl<P> Jitter<P> {
    /// Delays each packet by `least` to `least + jitter`, drawn from the stream of `seed`.
    pub fn new(least: Span, jitter: Span, order: Order, seed: u64) -> Jitter<P> {
        let random = RandomStream::new(seed);
        Jitter { least, jitter, packets: Departures::new(order), random }
    }
}

impl<P> Element<P> for Jitter<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        let more = self.random.uniform() * self.jitter.as_nanos() as f64;
        self.packets.push(now, self.least + Span::from_nanos(more as u64), packet);
        Outcome::Held
    }

    fn next(&self) -> Option<Time> {
        self.packets.next()
    }

    fn dequeue(&mut self, _now: Time) -> Outcome<P> {
        self.packets.pop().map_or(Outcome::Held, Outcome::Passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u64 = 100_000;

    /// Delays in ms of packets sent every 1 ms, by number, and how many came before an earlier one.
    fn delays(order: Order, seed: u64) -> (Vec<f64>, usize) {
        let mut element = Jitter::new(Span::from_millis(20), Span::from_millis(10), order, seed);
        for number in 0..PACKETS {
            let at = Time::ZERO + Span::from_millis(1) * number;
            assert_eq!(element.enqueue(at, Packet::test(number, 40)), Outcome::Held);
        }
        let (mut delays, mut early, mut highest) = (vec![0.0; PACKETS as usize], 0, 0);
        while let Some(at) = element.next() {
            let Outcome::Passed(packet) = element.dequeue(at) else { panic!("it only delays") };
            delays[packet.number as usize] = at.as_nanos() as f64 / 1e6 - packet.number as f64;
            early += usize::from(packet.number < highest);
            highest = highest.max(packet.number);
        }
        (delays, early)
    }

    #[test]
    fn free_delays_are_uniform_and_overtake() {
        let (delays, early) = delays(Order::Free, 1);
        assert!(delays.iter().all(|delay| (20.0..30.0).contains(delay)));
        // n = 10^5 uniform on 10 ms: standard deviation of the mean 2.887/sqrt(n) = 0.00913 ms, of
        // the share below 22 ms 0.00126; 4 of them either way.
        let mean = delays.iter().sum::<f64>() / PACKETS as f64;
        let low = delays.iter().filter(|delay| **delay < 22.0).count() as f64 / PACKETS as f64;
        assert!((mean - 25.0).abs() < 0.037, "{mean}");
        assert!((low - 0.2).abs() < 0.005_1, "{low}");
        assert!(early > 0);
    }

    #[test]
    fn kept_order_only_adds_waiting() {
        let ((free, _), (kept, early)) = (delays(Order::Free, 1), delays(Order::Kept, 1));
        assert_eq!(early, 0);
        assert!(kept.iter().all(|delay| (20.0..30.0).contains(delay)));
        // The draws are the same, and no packet is earlier for having to wait for others.
        assert!(free.iter().zip(&kept).all(|(free, kept)| kept >= free));
    }

    #[test]
    fn the_seed_settles_the_delays() {
        assert_eq!(delays(Order::Free, 2), delays(Order::Free, 2));
        assert_ne!(delays(Order::Free, 2), delays(Order::Free, 3));
    }
}
