//! Gilbert-Elliott loss (E. O. Elliott, Estimates of error rates for codes on burst-noise channels,
//! Bell System Technical Journal, 1963): losses come in bursts.

use serde::Serialize;

use crate::check::{Unfit, check, probability};
use crate::{DropCause, Dropped, Element, Outcome, Packet, RandomStream, Time};

/// The parameters of a Gilbert-Elliott channel, each a probability from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GilbertElliottSpec {
    /// The probability of moving from good to bad after a packet.
    pub p: f64,
    /// The probability of moving from bad to good after a packet.
    pub r: f64,
    /// The probability that a packet passes in the good state.
    pub k: f64,
    /// The probability that a packet passes in the bad state.
    pub h: f64,
}

impl GilbertElliottSpec {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        let GilbertElliottSpec { p, r, k, h } = *self;
        for (field, value) in [("p", p), ("r", r), ("k", k), ("h", h)] {
            probability(field, value)?;
        }
        // The channel starts in the good state, and may stay in the bad one for ever.
        let passes_good = k > 0.0 && (p == 0.0 || r > 0.0);
        let passes_bad = h > 0.0 && p > 0.0;
        let allowed = "with the others such that something is delivered in the long run";
        check(passes_good || passes_bad, "k", k, allowed)
    }
}

/// A channel that is either good or bad, and moves between the two from packet to packet.
///
/// The channel starts good. A packet's fate is drawn in the state it finds, then the channel moves.
/// The share of packets that find it bad tends to p/(p+r), the mean length of a bad run is 1/r
/// packets, and the loss rate (1-k) r/(p+r) + (1-h) p/(p+r).
///
/// Two random numbers are taken for each packet that arrives, so that with the same seed the n-th
/// packet to arrive meets the same fate whoever sends it and whenever.
#[derive(Debug)]
pub struct GilbertElliott {
    spec: GilbertElliottSpec,
    bad: bool,
    random: RandomStream,
}

impl GilbertElliott {
    /// A channel with these parameters.
    pub fn new(spec: GilbertElliottSpec, seed: u64) -> GilbertElliott {
        GilbertElliott { spec, bad: false, random: RandomStream::new(seed) }
    }

    /// Whether the next packet passes.
    pub(crate) fn passes(&mut self) -> bool {
        let GilbertElliottSpec { p, r, k, h } = self.spec;
        let (passes, moves) = if self.bad { (h, r) } else { (k, p) };
        let passed = self.random.chance(passes);
        self.bad ^= self.random.chance(moves);
        passed
    }
}

impl<P> Element<P> for GilbertElliott {
    fn enqueue(&mut self, _now: Time, packet: Packet<P>) -> Outcome<P> {
        if self.passes() {
            Outcome::Passed(packet)
        } else {
            Outcome::Dropped(Dropped { packet, cause: DropCause::GilbertElliott })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u64 = 1_000_000;

    /// Which packets are lost.
    fn losses(p: f64, r: f64, k: f64, h: f64, seed: u64) -> Vec<bool> {
        let mut loss = GilbertElliott::new(GilbertElliottSpec { p, r, k, h }, seed);
        (0..PACKETS)
            .map(|number| {
                let packet = Packet::test(number, 1500);
                matches!(loss.enqueue(Time::ZERO, packet), Outcome::Dropped(_))
            })
            .collect()
    }

    #[test]
    fn loss_rate_and_run_length_are_those_of_theory() {
        // With k = 1 and h = 0 (Gilbert's channel) the lost packets are exactly those that found the
        // channel bad.
        let (p, r) = (0.005, 0.25);
        let losses = losses(p, r, 1.0, 0.0, 1);
        let lost = losses.iter().filter(|lost| **lost).count() as f64;
        let runs = 1 + losses.windows(2).filter(|pair| !pair[0] && pair[1]).count();

        // Share bad p/(p+r) = 0.019608. Successive packets are correlated with 1-p-r = 0.745, so
        // n = 10^6 are worth n (p+r)/(2-p-r) = 146,132 independent ones: standard deviation
        // 0.000363; 4 of them either way (99.99 %).
        assert!((lost / PACKETS as f64 - p / (p + r)).abs() < 0.001_45, "{lost} lost");
        // Runs are geometric with mean 1/r = 4 and standard deviation sqrt(1-r)/r = 3.46; about 4900
        // of them, so 0.0495 for the mean; 4 of them either way.
        assert!((lost / runs as f64 - 1.0 / r).abs() < 0.2, "{lost} in {runs} runs");
    }

    #[test]
    fn both_states_lose_at_their_own_rate() {
        // (1-k) r/(p+r) + (1-h) p/(p+r) = 0.001 * 0.9 + 0.5 * 0.1 = 0.0509. The state's share has
        // standard deviation sqrt(0.09 * (2-p-r)/(p+r) / n) = 0.00127, half of which shows as loss;
        // with the draw itself 0.0007; 4 of them either way.
        let losses = losses(0.01, 0.09, 0.999, 0.5, 2);
        let rate = losses.iter().filter(|lost| **lost).count() as f64 / PACKETS as f64;
        assert!((rate - 0.050_9).abs() < 0.003, "{rate}");
    }

    #[test]
    fn it_starts_good_and_the_seed_settles_the_losses() {
        assert!(!losses(1.0, 0.0, 1.0, 0.0, 3)[0]);
        assert!(losses(1.0, 0.0, 1.0, 0.0, 3)[1..].iter().all(|lost| *lost));
        assert_eq!(losses(0.1, 0.3, 0.9, 0.2, 4), losses(0.1, 0.3, 0.9, 0.2, 4));
        assert_ne!(losses(0.1, 0.3, 0.9, 0.2, 4), losses(0.1, 0.3, 0.9, 0.2, 5));
    }
}
