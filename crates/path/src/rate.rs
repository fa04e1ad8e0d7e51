//! The time that a link takes to transmit: at a constant rate, or at one that changes.

use serde::Serialize;

use crate::check::{self, Unfit, check};
use crate::{Span, Time};

/// Takes packets from a queue and transmits one after the other.
pub(crate) trait Service: Send {
    /// When the last bit of so many bytes is sent, if their transmission begins now. The service
    /// is busy until then and is not asked before.
    fn transmit(&mut self, now: Time, bytes: u64) -> Time;
}

/// A rate as a function of time, piecewise constant.
pub(crate) trait Rate: Send {
    /// The rate from `time` on in bit/s, 0 for silence, and when it changes next. Times asked for
    /// never go back; a last rate is not 0.
    fn at(&mut self, time: Time) -> (u64, Option<Time>);
}

/// Transmits at a rate, and is exact even if the rate changes during a packet.
#[derive(Debug)]
pub(crate) struct Paced<R> {
    rate: R,
    /// When the last packet was sent.
    free: Time,
    /// The remainder of rounding to whole nanoseconds in this busy period, in bits times 10^9. It is carried
    /// into the next packet, so that a busy link keeps its rate exactly.
    carry: u64,
}

impl<R: Rate> Paced<R> {
    pub fn new(rate: R) -> Paced<R> {
        Paced { rate, free: Time::ZERO, carry: 0 }
    }
}

impl<R: Rate> Service for Paced<R> {
    fn transmit(&mut self, now: Time, bytes: u64) -> Time {
        if now > self.free {
            self.carry = 0;
        }
        let mut at = now;
        let mut nanobits = u128::from(bytes) * 8 * 1_000_000_000 + u128::from(self.carry);
        loop {
            let (rate, until) = self.rate.at(at);
            if let Some(until) = until {
                let sent = u128::from(rate) * u128::from((until - at).as_nanos());
                if sent < nanobits {
                    (at, nanobits) = (until, nanobits - sent);
                    continue;
                }
            }
            let (nanos, carry) = divide(nanobits, rate);
            self.carry = carry;
            self.free = at + Span::from_nanos(nanos);
            return self.free;
        }
    }
}

/// Quotient and remainder. It avoids a division of 128 bits if 64 are enough, as they are for all packets
/// that are not repeated many times.
#[inline]
fn divide(nanobits: u128, rate: u64) -> (u64, u64) {
    match u64::try_from(nanobits) {
        Ok(nanobits) => (nanobits / rate, nanobits % rate),
        Err(_) => ((nanobits / u128::from(rate)) as u64, (nanobits % u128::from(rate)) as u64),
    }
}

/// A constant rate in bit/s, at least 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constant(pub u64);

impl Rate for Constant {
    #[inline]
    fn at(&mut self, _time: Time) -> (u64, Option<Time>) {
        (self.0, None)
    }
}

/// A rate from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RateStep {
    /// When it begins.
    pub at: Time,
    /// The rate from then on in bit/s; 0 transmits nothing.
    pub bits_per_second: u64,
}

/// A rate that changes at given times.
#[derive(Debug)]
pub(crate) struct Scheduled {
    steps: Vec<RateStep>,
    /// Index of the present step.
    current: usize,
}

impl Scheduled {
    /// Makes it from steps that [`check_steps`] has accepted.
    pub fn new(steps: &[RateStep]) -> Scheduled {
        Scheduled { steps: steps.to_vec(), current: 0 }
    }
}

impl Rate for Scheduled {
    fn at(&mut self, time: Time) -> (u64, Option<Time>) {
        while let Some(next) = self.steps.get(self.current + 1)
            && next.at <= time
        {
            self.current += 1;
        }
        let until = self.steps.get(self.current + 1).map(|next| next.at);
        (self.steps[self.current].bits_per_second, until)
    }
}

pub(crate) fn check_steps(steps: &[RateStep]) -> Result<(), Unfit> {
    const FIELD: &str = "steps";
    let first = steps.first().map(|step| step.at);
    check(
        first == Some(Time::ZERO),
        FIELD,
        first.map_or("nothing".into(), |at| at.to_string()),
        "a first step at 0 s",
    )?;
    for pair in steps.windows(2) {
        check(pair[0].at < pair[1].at, FIELD, pair[1].at, "each step later than the one before")?;
    }
    // Packets that wait when the last step begins would wait for ever.
    check::rate(FIELD, steps.last().map_or(0, |step| step.bits_per_second))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn a_packet_takes_its_serialisation_time() {
        // 1500 bytes at 10 Mb/s: 1.2 ms.
        let mut link = Paced::new(Constant(10_000_000));
        assert_eq!(link.transmit(Time::ZERO, 1500), at(1_200_000));
        assert_eq!(link.transmit(at(1_200_000), 40), at(1_232_000));
    }

    #[test]
    fn rounding_does_not_add_up() {
        // 100 bytes at 7 Mb/s take 114,285.714... ns; 7000 of them exactly 0.8 s.
        let mut link = Paced::new(Constant(7_000_000));
        let mut now = Time::ZERO;
        for _ in 0..7000 {
            now = link.transmit(now, 100);
        }
        assert_eq!(now, at(800 * MS));
    }

    #[test]
    fn an_idle_link_starts_anew() {
        let mut link = Paced::new(Constant(3_000_000_000));
        for start in [0, 1_000] {
            assert_eq!(link.transmit(at(start), 1), at(start + 2));
        }
    }

    fn steps(steps: &[(u64, u64)]) -> Vec<RateStep> {
        let step = |&(at_ms, bits_per_second)| RateStep { at: at(at_ms * MS), bits_per_second };
        steps.iter().map(step).collect()
    }

    #[test]
    fn a_step_changes_the_rate_within_a_packet() {
        // 1000 bytes: 5 ms at 0.8 Mb/s send half of it, then 20 ms of silence, then 1.25 ms at
        // 3.2 Mb/s the rest.
        let schedule = steps(&[(0, 800_000), (5, 0), (25, 3_200_000)]);
        assert_eq!(check_steps(&schedule), Ok(()));
        let mut link = Paced::new(Scheduled::new(&schedule));
        assert_eq!(link.transmit(Time::ZERO, 1000), at(26_250_000));
        assert_eq!(link.transmit(at(30 * MS), 1000), at(32_500_000));
    }

    #[test]
    fn a_packet_that_ends_with_a_step_is_sent_by_then() {
        let mut link = Paced::new(Scheduled::new(&steps(&[(0, 800_000), (10, 0), (20, 800_000)])));
        assert_eq!(link.transmit(Time::ZERO, 1000), at(10 * MS));
        assert_eq!(link.transmit(at(10 * MS), 1000), at(30 * MS));
    }

    #[test]
    fn steps_that_are_none_are_refused() {
        let refused: [&[(u64, u64)]; 4] =
            [&[], &[(1, 1)], &[(0, 1), (5, 2), (5, 3)], &[(0, 1), (5, 0)]];
        for schedule in refused {
            assert_eq!(check_steps(&steps(schedule)).unwrap_err().field, "steps", "{schedule:?}");
        }
    }
}
