use crate::{DropCause, Dropped, Element, Outcome, Packet, RandomStream, Time};

/// Each packet is lost with the same probability, independently of others.
///
/// One random number is taken for each packet that arrives, so that with the same seed the n-th
/// packet to arrive meets the same fate whoever sends it and whenever.
#[derive(Debug)]
pub struct IndependentLoss {
    probability: f64,
    random: RandomStream,
}

impl IndependentLoss {
    /// Loses packets with this probability (0 to 1).
    pub fn new(probability: f64, seed: u64) -> IndependentLoss {
        IndependentLoss { probability, random: RandomStream::new(seed) }
    }
}

impl<P> Element<P> for IndependentLoss {
    fn enqueue(&mut self, _now: Time, packet: Packet<P>) -> Outcome<P> {
        if self.random.chance(self.probability) {
            Outcome::Dropped(Dropped { packet, cause: DropCause::IndependentLoss })
        } else {
            Outcome::Passed(packet)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(probability: f64, seed: u64, packets: u64) -> Vec<bool> {
        let mut loss = IndependentLoss::new(probability, seed);
        (0..packets)
            .map(|number| {
                let packet = Packet::test(number, 1500);
                matches!(loss.enqueue(Time::ZERO, packet), Outcome::Dropped(_))
            })
            .collect()
    }

    #[test]
    fn the_loss_rate_is_the_probability() {
        // n = 10^6 at 1 %: standard deviation sqrt(n p q) = 99.5 losses; 4 of them either way
        // (99.99 %).
        let lost = losses(0.01, 1, 1_000_000).into_iter().filter(|lost| *lost).count();
        assert!((9_602..=10_398).contains(&lost), "{lost} lost");
    }

    #[test]
    fn losses_come_alone() {
        // A loss follows a loss as often as it follows anything: of about 10^4 losses, a share of
        // 0.01 with standard deviation 0.001; 4 of them either way.
        let losses = losses(0.01, 2, 1_000_000);
        let all = losses.iter().filter(|lost| **lost).count() as f64;
        let pairs = losses.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
        assert!((pairs / all - 0.01).abs() < 0.004, "{}", pairs / all);
    }

    #[test]
    fn the_ends_of_the_range_are_exact() {
        assert!(losses(0.0, 3, 10_000).into_iter().all(|lost| !lost));
        assert!(losses(1.0, 3, 10_000).into_iter().all(|lost| lost));
    }

    #[test]
    fn the_seed_settles_the_losses() {
        assert_eq!(losses(0.1, 4, 10_000), losses(0.1, 4, 10_000));
        assert_ne!(losses(0.1, 4, 10_000), losses(0.1, 5, 10_000));
    }

    #[test]
    fn what_a_lower_probability_loses_a_higher_one_loses_too() {
        // One number is drawn per packet, whatever the probability is.
        let (rare, common) = (losses(0.01, 6, 10_000), losses(0.1, 6, 10_000));
        assert!(rare.iter().zip(&common).all(|(rare, common)| !rare || *common));
    }
}
