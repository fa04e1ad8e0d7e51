//! Seeded random streams: one per random element, each independent of the others.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// A stream of random numbers that depends on nothing but its seed.
#[derive(Clone, Debug)]
pub struct RandomStream(Pcg64Mcg);

impl RandomStream {
    /// The stream of this seed.
    pub fn new(seed: u64) -> RandomStream {
        let high = splitmix64(seed);
        let low = splitmix64(high);
        RandomStream(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }

    /// Returns true with this probability (0 never, 1 always). It takes one number from the stream whatever
    /// the probability is.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A number from 0 to less than 1, each of the 2^53 multiples of 2^-53 with the same probability.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        // The 53 high bits fill the mantissa of a double, every value exact.
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from the exponential distribution with this mean, which is 0 or more.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

/// The seed of the stream at `labels` under a root seed, e.g. `[direction, element]`.
///
/// Starting from the root, each label is added to the state and the state is put through
/// SplitMix64. Each step is a bijection, so streams that differ in one label only never share a
/// seed; and a stream's seed depends on its own labels only, so adding an element behind it leaves
/// it as it was.
pub fn stream_seed(root: u64, labels: &[u64]) -> u64 {
    labels.iter().fold(splitmix64(root), |seed, label| splitmix64(seed.wrapping_add(*label)))
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014):
/// the output for the state `x`, with the increment taken first.
fn splitmix64(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_sequence() {
        // First outputs for seed 0, as in the reference implementation's tests.
        assert_eq!(splitmix64(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(splitmix64(0x9E37_79B9_7F4A_7C15), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn seeds_of_streams_are_stable_and_differ() {
        // Published results name a seed: this number must never change.
        assert_eq!(stream_seed(1, &[0, 0]), 12_793_040_940_332_582_595);
        let mut seeds: Vec<u64> = (0..2)
            .flat_map(|direction| (0..50).map(move |element| stream_seed(1, &[direction, element])))
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 100);
    }

    #[test]
    fn streams_are_stable() {
        let mut stream = RandomStream::new(1);
        let bits = (0..64).fold(0u64, |bits, _| bits << 1 | u64::from(stream.chance(0.5)));
        assert_eq!(bits, 8_758_198_177_452_585_889);
    }

    #[test]
    fn exponential_has_its_mean_and_spread() {
        // n = 10^6 of mean and standard deviation 3: the mean's standard deviation is 0.003, that of
        // the share beyond the mean (1/e) 0.00048; 4 of them either way.
        let mut stream = RandomStream::new(2);
        let values: Vec<f64> = (0..1_000_000).map(|_| stream.exponential(3.0)).collect();
        let mean = values.iter().sum::<f64>() / 1e6;
        let beyond = values.iter().filter(|value| **value > 3.0).count() as f64 / 1e6;
        assert!((mean - 3.0).abs() < 0.012, "{mean}");
        assert!((beyond - (-1.0f64).exp()).abs() < 0.001_93, "{beyond}");
        assert!(values.iter().all(|value| *value >= 0.0));
    }

    #[test]
    fn chance_keeps_to_its_ends() {
        let mut stream = RandomStream::new(7);
        assert!((0..10_000).all(|_| !stream.chance(0.0)));
        assert!((0..10_000).all(|_| stream.chance(1.0)));
    }
}
