//! Traffic of others, which shares a link's queue and leaves the path after the link.

use serde::Serialize;

use crate::check::{self, Unfit, check, positive};
use crate::{OnTime, RandomStream, Span, Time};

/// Packets of one size at a constant rate, always or in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CrossTrafficSpec {
    /// The rate in bit/s while it sends; at least 1.
    pub bits_per_second: u64,
    /// IP length of each packet, 20 to 65535.
    pub packet_bytes: u32,
    /// When it sends, or `None` for always.
    pub turns: Option<Turns>,
}

/// Sending and being silent in turns, beginning with sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Turns {
    /// How long it sends each time, or in the mean; above 0.
    pub on: Span,
    /// How long it is silent each time, or in the mean; above 0.
    pub off: Span,
    /// Whether the lengths are drawn, independently, from exponential distributions.
    pub exponential: bool,
}

impl CrossTrafficSpec {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        check::rate("rate", self.bits_per_second)?;
        let fits = (20..=65_535).contains(&self.packet_bytes);
        check(fits, "packet", self.packet_bytes, "20 to 65535 bytes")?;
        self.turns.map_or(Ok(()), |turns| {
            positive("on", turns.on)?;
            positive("off", turns.off)
        })
    }
}

/// When the next packet of others arrives.
#[derive(Debug)]
pub(crate) struct CrossTraffic {
    spec: CrossTrafficSpec,
    next: Time,
    on_time: Option<OnTime>,
    /// The remainder of rounding, in bits times 10^9.
    carry: u64,
    random: RandomStream,
}

impl CrossTraffic {
    pub fn new(spec: CrossTrafficSpec, seed: u64) -> CrossTraffic {
        let mut random = RandomStream::new(seed);
        let first = spec.turns.map(|turns| Time::ZERO + turns.draw(turns.on, &mut random));
        let on_time = first.map(OnTime::until);
        CrossTraffic { spec, next: Time::ZERO, on_time, carry: 0, random }
    }

    pub fn next(&self) -> Time {
        self.next
    }

    /// Takes the packet that arrives at `next` and returns its length; then the next one is due.
    pub fn arrive(&mut self) -> u32 {
        let nanobits = u64::from(self.spec.packet_bytes) * 8 * 1_000_000_000 + self.carry;
        self.carry = nanobits % self.spec.bits_per_second;
        self.next += Span::from_nanos(nanobits / self.spec.bits_per_second);
        if let Some((turns, on_time)) = self.spec.turns.zip(self.on_time.as_mut()) {
            let random = &mut self.random;
            let draw = || (turns.draw(turns.off, random), turns.draw(turns.on, random));
            self.next = on_time.after_pauses(self.next, draw);
        }
        self.spec.packet_bytes
    }
}

impl Turns {
    fn draw(&self, length: Span, random: &mut RandomStream) -> Span {
        if self.exponential {
            Span::from_nanos(random.exponential(length.as_nanos() as f64) as u64)
        } else {
            length
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrivals in nanoseconds until `end`.
    fn arrivals(turns: Option<Turns>, end: u64) -> Vec<u64> {
        // 1000 bytes at 24 Mb/s take 333,333.33 ns.
        let spec = CrossTrafficSpec { bits_per_second: 24_000_000, packet_bytes: 1000, turns };
        let mut traffic = CrossTraffic::new(spec, 1);
        let next = || {
            let at = traffic.next().as_nanos();
            assert_eq!(traffic.arrive(), 1000);
            Some(at)
        };
        std::iter::from_fn(next).take_while(|at| *at < end).collect()
    }

    #[test]
    fn the_rate_is_constant() {
        let arrivals = arrivals(None, 1_000_000_000);
        assert_eq!(arrivals[..4], [0, 333_333, 666_666, 1_000_000]);
        assert_eq!(arrivals.len(), 3000);
    }

    #[test]
    fn turns_are_kept() {
        let (on, off) = (Span::from_millis(1), Span::from_millis(2));
        let turns = Turns { on, off, exponential: false };
        // The remainder of rounding to nanoseconds is carried on.
        let expected = [0, 333_333, 666_666, 3_000_000, 3_333_333, 3_666_666, 6_000_000];
        assert_eq!(arrivals(Some(turns), 6_300_000), expected);
    }

    #[test]
    fn turns_shorter_than_a_packet_keep_the_rate() {
        let (on, off) = (Span::from_nanos(100_000), Span::from_nanos(100_000));
        let turns = Turns { on, off, exponential: false };
        assert_eq!(arrivals(Some(turns), 1_000_000_000).len(), 1500);
    }

    #[test]
    fn drawn_turns_have_their_means() {
        // On 30 ms, off 60 ms: sends a third of the time. A cycle of 90 ms mean has a share with
        // variance that makes the mean share of n cycles s = sqrt(2) * (1/3) * (2/3) / sqrt(n);
        // n = 10^6 / 90 = 11,100: 0.003; 4 of them either way.
        let (on, off) = (Span::from_millis(30), Span::from_millis(60));
        let turns = Turns { on, off, exponential: true };
        let share = arrivals(Some(turns), 1_000_000_000_000).len() as f64 / 3e6;
        assert!((share - 1.0 / 3.0).abs() < 0.012, "{share}");
    }
}
