//! When each burst is due: the same for every contender of a scenario.

use std::time::Duration;

use kirikae_path::stream_seed;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::{Bursts, Spacing};

/// Label of the stream of burst spacing; 0 and 1 are the path's directions, of the same seed.
const STREAM: u64 = 2;

/// Due times of all bursts, from the start of the schedule; the first is due at once.
pub fn due_times(workload: &Bursts, seed: u64) -> Vec<Duration> {
    let mut random = Pcg64::seed_from_u64(stream_seed(seed, &[STREAM]));
    let mut due = Duration::ZERO;
    let mut times = Vec::with_capacity(workload.total() as usize);
    for _ in 0..workload.total() {
        times.push(due);
        due += match workload.spacing {
            Spacing::Fixed => workload.interval,
            // Inverse of the exponential distribution function; the draw is below 1.
            Spacing::Exponential => workload.interval.mul_f64(-(-random.random::<f64>()).ln_1p()),
        };
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(spacing: Spacing, count: u32) -> Bursts {
        Bursts { burst: 1, interval: Duration::from_secs(2), spacing, count, warmup: 1 }
    }

    #[test]
    fn fixed_bursts_are_one_interval_apart() {
        let seconds = [0, 2, 4, 6].map(Duration::from_secs);
        assert_eq!(due_times(&workload(Spacing::Fixed, 3), 7), seconds);
    }

    #[test]
    fn exponential_gaps_depend_on_nothing_but_the_seed_and_have_the_right_mean() {
        let workload = workload(Spacing::Exponential, 10_000);
        let times = due_times(&workload, 7);
        assert_eq!(times, due_times(&workload, 7));
        assert_ne!(times, due_times(&workload, 8));
        // Standard error of the mean gap: 2 s / sqrt(10000) = 0.02 s; five of them are allowed.
        let mean = times[10_000].as_secs_f64() / 10_000.0;
        assert!((mean - 2.0).abs() < 0.1, "mean gap {mean} s");
    }
}
