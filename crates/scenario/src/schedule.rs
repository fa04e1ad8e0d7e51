//! Computes when each burst is due, and how large it is: the same for every contender of a scenario.

use std::time::Duration;

use kirikae_path::stream_seed;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::{Bursts, Spacing};

/// Label of the random stream of burst spacing and sizes. With the same seed, 0 and 1 are the path's
/// directions.
const STREAM: u64 = 2;
const SIZES: u64 = 3;

/// Due times of all bursts, from the start of the schedule; the first is due at once.
pub fn due_times(workload: &Bursts, seed: u64) -> Vec<Duration> {
    let mut random = Pcg64::seed_from_u64(stream_seed(seed, &[STREAM]));
    let mut due = Duration::ZERO;
    let mut times = Vec::with_capacity(workload.total() as usize);
    for _ in 0..workload.total() {
        times.push(due);
        due += match workload.spacing {
            Spacing::Fixed => workload.interval,
            Spacing::Exponential => workload.interval.mul_f64(exponential(&mut random)),
        };
    }
    times
}

/// Bytes of each burst, at least 1.
pub fn sizes(workload: &Bursts, seed: u64) -> Vec<u64> {
    let mut random = Pcg64::seed_from_u64(stream_seed(seed, &[SIZES]));
    let mut size = || match workload.sizes {
        Spacing::Fixed => workload.burst,
        Spacing::Exponential => (workload.burst as f64 * exponential(&mut random)).ceil() as u64,
    };
    (0..workload.total()).map(|number| size().max(1) * workload.times(number)).collect()
}

/// Draws from the exponential distribution with mean 1.
fn exponential(random: &mut Pcg64) -> f64 {
    // This inverts the distribution function; the draw is below 1.
    -(-random.random::<f64>()).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::super::{Connection, Key};
    use super::*;

    fn workload(spacing: Spacing, count: u32) -> Bursts {
        let (interval, sizes) = (Duration::from_secs(2), spacing);
        let (key, connection) = (None, Connection::Kept);
        let (burst, overlap, warmup) = (60_000, true, 1);
        Bursts { burst, sizes, key, interval, spacing, connection, overlap, count, warmup }
    }

    #[test]
    fn fixed_bursts_are_one_interval_apart() {
        let seconds = [0, 2, 4, 6].map(Duration::from_secs);
        assert_eq!(due_times(&workload(Spacing::Fixed, 3), 7), seconds);
        assert_eq!(sizes(&workload(Spacing::Fixed, 3), 7), [60_000; 4]);
    }

    #[test]
    fn key_pictures_are_larger() {
        let key = Some(Key { every: 3, times: 8 });
        let bursts = Bursts { key, ..workload(Spacing::Fixed, 4) };
        assert_eq!(sizes(&bursts, 7), [480_000, 60_000, 60_000, 480_000, 60_000]);
        assert_eq!(bursts.bytes(), 1_140_000);
    }

    #[test]
    fn exponential_gaps_depend_on_nothing_but_the_seed_and_have_the_right_mean() {
        let workload = workload(Spacing::Exponential, 10_000);
        let times = due_times(&workload, 7);
        assert_eq!(times, due_times(&workload, 7));
        assert_ne!(times, due_times(&workload, 8));
        // The standard error of the mean gap is 2 s / sqrt(10000) = 0.02 s; five of them are allowed.
        let mean = times[10_000].as_secs_f64() / 10_000.0;
        assert!((mean - 2.0).abs() < 0.1, "mean gap {mean} s");
        let sizes = sizes(&workload, 7);
        assert_eq!(sizes.len(), times.len());
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        assert!((mean - 60_000.0).abs() < 3000.0, "mean size {mean}");
    }
}
