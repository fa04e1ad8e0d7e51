use crate::check::{self, Unfit, check};
use crate::departures::{Departures, Order};
use crate::radio::Radio;
use crate::{DropCause, Dropped, Element, Outcome, Packet, RandomStream, Span, Time};

/// How often a radio link sends again what was lost, beside other packets, and how late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ArqSpec {
    /// Number of repetitions; a packet is lost if it and all of these were. At most 255.
    pub retries: u32,
    /// Time between a transmission and its repetition; at most a day.
    pub retry_delay: Span,
}

impl ArqSpec {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        check(self.retries <= 255, "retries", self.retries, "at most 255")?;
        check::delay("retry-delay", self.retry_delay)
    }
}

/// Automatic repeat request: a lost packet is repeated, each time a delay later, and packets leave
/// in order, so that those behind it wait (Oguchi, doctoral thesis, 2016, section 5.2.1.2).
///
/// Repetitions take no capacity from other packets. A packet whose repetitions are exhausted is
/// dropped when the last of them would have come; those behind it wait until then.
///
/// One random number is taken for each packet that arrives.
#[derive(Debug)]
pub struct Arq<P> {
    spec: ArqSpec,
    errors: Errors,
    under_way: Departures<Outcome<P>>,
    random: RandomStream,
}

/// The source of losses of single transmissions.
#[derive(Debug)]
enum Errors {
    Independent(f64),
    /// Losses follow from the bit error rate at the time and the packet's length.
    Radio(Radio),
}

impl<P> Arq<P> {
    /// Each transmission is lost with this probability (0 to 1), independently of others.
    pub fn new(spec: ArqSpec, loss: f64, seed: u64) -> Arq<P> {
        Arq::with(spec, Errors::Independent(loss), seed)
    }

    /// Each transmission is lost if one of its bits is wrong.
    pub(crate) fn over(radio: Radio, spec: ArqSpec, seed: u64) -> Arq<P> {
        Arq::with(spec, Errors::Radio(radio), seed)
    }

    fn with(spec: ArqSpec, errors: Errors, seed: u64) -> Arq<P> {
        let under_way = Departures::new(Order::Kept);
        Arq { spec, errors, under_way, random: RandomStream::new(seed) }
    }

    /// Draws how often the next packet is lost; one more than there are retries means each time. The chance
    /// of n losses in a row is loss^n, so one number determines how many there are.
    fn losses(&mut self, loss: f64) -> u32 {
        let uniform = self.random.uniform();
        let mut in_a_row = loss;
        let mut losses = 0;
        while losses <= self.spec.retries && uniform < in_a_row {
            losses += 1;
            in_a_row *= loss;
        }
        losses
    }
}

impl<P> Element<P> for Arq<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        let loss = match &mut self.errors {
            Errors::Independent(loss) => *loss,
            Errors::Radio(radio) => radio.loss(now, packet.bytes),
        };
        let losses = self.losses(loss);
        let repetitions = losses.min(self.spec.retries);
        let outcome = if losses > self.spec.retries {
            Outcome::Dropped(Dropped { packet, cause: DropCause::RetriesExhausted })
        } else {
            Outcome::Passed(packet)
        };
        self.under_way.push(now, self.spec.retry_delay * u64::from(repetitions), outcome);
        Outcome::Held
    }

    fn next(&self) -> Option<Time> {
        self.under_way.next()
    }

    fn dequeue(&mut self, _now: Time) -> Outcome<P> {
        self.under_way.pop().unwrap_or(Outcome::Held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u64 = 1_000_000;
    const SPEC: ArqSpec = ArqSpec { retries: 2, retry_delay: Span::from_millis(10) };

    /// Delay in ms and fate of packets, each sent when the one before it is out.
    fn alone(loss: f64, seed: u64) -> Vec<(u64, bool)> {
        let mut arq = Arq::new(SPEC, loss, seed);
        let mut now = Time::ZERO;
        let send = |number| {
            arq.enqueue(now, Packet::test(number, 1500));
            let at = arq.next().unwrap();
            let delay = (at - now).as_nanos() / 1_000_000;
            now = at;
            (delay, matches!(arq.dequeue(at), Outcome::Passed(_)))
        };
        (0..PACKETS).map(send).collect()
    }

    #[test]
    fn repetitions_and_losses_are_those_of_theory() {
        // With loss e = 0.3, 0.7 pass at once, 0.21 after one repetition, 0.063 after two, and 0.027 are lost
        // then. For n = 10^6 the standard deviation of each is at most 0.00046; 4 of them are allowed on
        // either side.
        let fates = alone(0.3, 1);
        let expected = [(0, true, 0.7), (10, true, 0.21), (20, true, 0.063), (20, false, 0.027)];
        for (delay, passed, share) in expected {
            let found = fates.iter().filter(|fate| **fate == (delay, passed)).count() as f64;
            assert!((found / PACKETS as f64 - share).abs() < 0.001_84, "{delay} {passed}: {found}");
        }
    }

    #[test]
    fn order_is_kept_and_losses_are_waited_for() {
        // The second of three is lost each time (its fate is drawn, so a place with such a fate is looked
        // for). The third, which passes at once, leaves with it.
        let fates = alone(0.3, 1);
        let first = fates.windows(3).position(|three| three == [(0, true), (20, false), (0, true)]);
        let first = first.expect("0.7 * 0.027 * 0.7 of a million") as u64;
        let mut arq = Arq::new(SPEC, 0.3, 1);
        for number in 0..first {
            arq.enqueue(Time::ZERO, Packet::test(number, 1500));
        }
        while let Some(at) = arq.next() {
            arq.dequeue(at);
        }
        let now = Time::ZERO + Span::from_secs(9);
        for number in 0..3 {
            arq.enqueue(now, Packet::test(number, 1500));
        }
        let out = |arq: &mut Arq<()>| {
            let at = arq.next().unwrap();
            (at - now, arq.dequeue(at))
        };
        let late = Span::from_millis(20);
        let lost = Dropped { packet: Packet::test(1, 1500), cause: DropCause::RetriesExhausted };
        assert_eq!(out(&mut arq), (Span::ZERO, Outcome::Passed(Packet::test(0, 1500))));
        assert_eq!(out(&mut arq), (late, Outcome::Dropped(lost)));
        assert_eq!(out(&mut arq), (late, Outcome::Passed(Packet::test(2, 1500))));
    }

    #[test]
    fn the_seed_settles_the_fates() {
        assert_eq!(alone(0.3, 2), alone(0.3, 2));
        assert_ne!(alone(0.3, 2), alone(0.3, 3));
    }
}
