//! The lowest round-trip time of the last minutes (Linux: lib/win_minmax.c, K. Nichols' estimator).

/// How long the lowest RTT is remembered, milliseconds (sysctl tcp_min_rtt_wlen).
const MEMORY_MS: u32 = 300_000;

/// A sample, and when it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RttSample {
    /// When it was taken, in milliseconds of a clock that may wrap.
    pub at_ms: u32,
    /// The RTT in microseconds.
    pub rtt_us: u32,
}

/// A windowed minimum from three samples. Each is the lowest since the one before it, so that when the best
/// leaves the window the next is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct LowestRtt {
    samples: [RttSample; 3],
}

impl Default for LowestRtt {
    fn default() -> LowestRtt {
        LowestRtt { samples: [RttSample { at_ms: 0, rtt_us: u32::MAX }; 3] }
    }
}

impl LowestRtt {
    /// The lowest RTT, microseconds; none before the first sample.
    pub fn get(&self) -> Option<u64> {
        let lowest_us = self.samples[0].rtt_us;
        (lowest_us != u32::MAX).then_some(lowest_us.into())
    }

    /// The three samples, the lowest first, as the kernel's `rtt_min` has them.
    pub fn samples(&self) -> &[RttSample; 3] {
        &self.samples
    }

    /// Takes a sample. Returns whether any of the three samples has changed.
    pub fn sample(&mut self, at_ms: u32, rtt_us: u32) -> bool {
        let samples = &mut self.samples;
        let new = RttSample { at_ms, rtt_us };
        let age_ms = |sample: &RttSample| at_ms.wrapping_sub(sample.at_ms);
        if rtt_us <= samples[0].rtt_us || age_ms(&samples[2]) > MEMORY_MS {
            *samples = [new; 3];
            return true;
        }
        // Samples that are not lower than the new one will never be needed.
        let needless = (1..3).find(|place| rtt_us <= samples[*place].rtt_us);
        if let Some(place) = needless {
            samples[place..].fill(new);
        }
        if age_ms(&samples[0]) > MEMORY_MS {
            while age_ms(&samples[0]) > MEMORY_MS {
                samples.rotate_left(1);
                samples[2] = new;
            }
            return true;
        }
        // A sample that still stands for the one before it is replaced after a quarter of the memory.
        let stands_in = |place: &usize| {
            samples[*place].at_ms == samples[*place - 1].at_ms
                && age_ms(&samples[0]) > *place as u32 * MEMORY_MS / 4
        };
        let stand_in = (1..3).find(stands_in);
        if let Some(place) = stand_in {
            samples[place..].fill(new);
        }
        needless.is_some() || stand_in.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_sample_counts_at_once_and_a_higher_one_when_the_lower_is_forgotten() {
        let mut lowest = LowestRtt::default();
        assert_eq!(lowest.get(), None);
        let mut after = |at_s: u32, rtt_us| {
            lowest.sample(at_s * 1_000, rtt_us);
            lowest.get()
        };
        assert_eq!(after(0, 900), Some(900));
        assert_eq!(after(10, 800), Some(800));
        assert_eq!(after(200, 850), Some(800));
        assert_eq!(after(310, 1_000), Some(800), "remembered for 300 s");
        assert_eq!(after(311, 1_000), Some(850), "the next lowest since");
    }

    #[test]
    fn a_path_that_got_longer_is_known_after_the_memory() {
        let mut lowest = LowestRtt::default();
        lowest.sample(0, 500);
        (1..=300).for_each(|s| {
            lowest.sample(s * 1_000, 700);
        });
        assert_eq!(lowest.get(), Some(500));
        lowest.sample(301_000, 700);
        assert_eq!(lowest.get(), Some(700));
        assert!(!lowest.sample(302_000, 701), "nothing of it is kept");
        // After a long silence nothing older is used.
        lowest.sample(900_000, 2_000);
        assert_eq!(lowest.get(), Some(2_000));
    }
}
