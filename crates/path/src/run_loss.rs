use serde::Serialize;

use crate::check::{Unfit, check, probability};
use crate::{DropCause, Dropped, Element, Outcome, Packet, RandomStream, Time};

/// Runs of lost packets: how often they begin, and how long they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLossSpec {
    /// Probability, from 0 to 1, that a run begins at a packet where one may.
    pub begin: f64,
    /// Lengths in packets, at least 1, each with its relative frequency, above 0.
    pub lengths: Vec<(u64, f64)>,
}

impl RunLossSpec {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        const FIELD: &str = "lengths";
        probability("begin", self.begin)?;
        check(!self.lengths.is_empty(), FIELD, "nothing", "at least one length")?;
        self.lengths.iter().try_for_each(|(length, weight)| {
            let fits = (1..=1_000_000).contains(length);
            check(fits, FIELD, length, "lengths from 1 to 1000000 packets")?;
            let fits = weight.is_finite() && *weight > 0.0;
            check(fits, FIELD, weight, "weights above 0")
        })
    }

    /// The mean length of a run in packets.
    #[cfg(test)]
    fn mean(&self) -> f64 {
        let weights: f64 = self.lengths.iter().map(|(_, weight)| weight).sum();
        let lengths = self.lengths.iter().map(|(length, weight)| *length as f64 * weight);
        lengths.sum::<f64>() / weights
    }
}

/// Loses runs of packets with a given distribution of their lengths.
///
/// A run may begin at any packet except the one right behind another run, which passes, so that runs keep
/// their lengths. With mean length L and probability b the loss rate is L / (L + 1/b).
///
/// Two random numbers are taken for each packet that arrives.
#[derive(Debug)]
pub struct RunLoss {
    begin: f64,
    /// Each length, with the share of runs of this length or one before it in the list.
    lengths: Vec<(u64, f64)>,
    state: State,
    random: RandomStream,
}

#[derive(Clone, Copy, Debug)]
enum State {
    MayBegin,
    /// That many more packets are lost, and then one passes.
    In(u64),
}

impl RunLoss {
    /// Makes it from a valid description.
    pub fn new(spec: &RunLossSpec, seed: u64) -> RunLoss {
        let weights: f64 = spec.lengths.iter().map(|(_, weight)| weight).sum();
        let mut share = 0.0;
        let cumulative = |&(length, weight): &(u64, f64)| {
            share += weight / weights;
            (length, share)
        };
        let lengths = spec.lengths.iter().map(cumulative).collect();
        let random = RandomStream::new(seed);
        RunLoss { begin: spec.begin, lengths, state: State::MayBegin, random }
    }

    fn length(&self, uniform: f64) -> u64 {
        let drawn = self.lengths.iter().find(|(_, share)| uniform < *share);
        // Rounding may make the sum of the shares less than 1.
        drawn.or(self.lengths.last()).map_or(1, |(length, _)| *length)
    }
}

impl<P> Element<P> for RunLoss {
    fn enqueue(&mut self, _now: Time, packet: Packet<P>) -> Outcome<P> {
        let (begins, uniform) = (self.random.chance(self.begin), self.random.uniform());
        let left = match self.state {
            State::MayBegin if begins => self.length(uniform),
            State::MayBegin => return Outcome::Passed(packet),
            State::In(0) => {
                self.state = State::MayBegin;
                return Outcome::Passed(packet);
            }
            State::In(left) => left,
        };
        self.state = State::In(left - 1);
        Outcome::Dropped(Dropped { packet, cause: DropCause::RunLoss })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u64 = 1_000_000;

    fn losses(spec: &RunLossSpec, seed: u64) -> Vec<bool> {
        let mut loss = RunLoss::new(spec, seed);
        let lost = |number| {
            let outcome = loss.enqueue(Time::ZERO, Packet::test(number, 1500));
            matches!(outcome, Outcome::Dropped(_))
        };
        (0..PACKETS).map(lost).collect()
    }

    #[test]
    fn lengths_and_loss_rate_are_those_given() {
        let spec = RunLossSpec { begin: 0.01, lengths: vec![(1, 5.0), (2, 3.0), (10, 2.0)] };
        let losses = losses(&spec, 1);
        let mut runs = std::collections::BTreeMap::new();
        for run in losses.chunk_by(|a, b| a == b).filter(|run| run[0]) {
            *runs.entry(run.len()).or_insert(0.0) += 1.0;
        }
        // n = 10^6 / (3.1 + 100) = 9699 runs, 98.1 either way: a cycle of mean 103.1 has standard
        // deviation 99.5 (the gap) with 3.5 (the run). Shares p have sqrt(p q / n) <= 0.0051. 4 of
        // each.
        let number: f64 = runs.values().sum();
        assert!((number - 9_699.0).abs() < 4.0 * 99.0, "{number}");
        assert_eq!(runs.keys().copied().collect::<Vec<_>>(), [1, 2, 10]);
        for (length, share) in [(1, 0.5), (2, 0.3), (10, 0.2)] {
            assert!((runs[&length] / number - share).abs() < 0.020_4, "{length}: {runs:?}");
        }
        // L/(L + 1/b) = 3.1/103.1 = 0.03007; a cycle's loss less its share has standard deviation
        // about sqrt(3.5^2 * 0.94 + (0.03 * 99.5)^2) = 4.5: 4.5 sqrt(n) / 10^6 = 0.00044; 4 of them.
        assert_eq!(spec.mean(), 3.1);
        let rate = losses.iter().filter(|lost| **lost).count() as f64 / PACKETS as f64;
        assert!((rate - 3.1 / 103.1).abs() < 0.001_8, "{rate}");
    }

    #[test]
    fn a_packet_passes_between_runs() {
        let lost = losses(&RunLossSpec { begin: 1.0, lengths: vec![(2, 1.0)] }, 1);
        assert_eq!(lost[..7], [true, true, false, true, true, false, true]);
    }

    #[test]
    fn the_seed_settles_the_losses() {
        let spec = RunLossSpec { begin: 0.1, lengths: vec![(1, 1.0), (3, 1.0)] };
        assert_eq!(losses(&spec, 2), losses(&spec, 2));
        assert_ne!(losses(&spec, 2), losses(&spec, 3));
    }
}
