//! How long bursts take, counted in the kernel (`bpf/interface/burst_latencies.h`).

use kirikae_interface as kernel;
use kirikae_interface::burst_latencies;
use kirikae_policy::Policy;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use zerocopy::FromBytes;

use crate::error::{Doing, Error};

/// Upper ends of the burst sizes, bytes; the last size has none.
pub const BURST_SIZES: [Option<u32>; SIZES] = {
    let mut ends = [None; SIZES];
    let mut size = 0;
    while size < SIZES - 1 {
        let log2 = kernel::SMALLEST_BURST_LOG2 + size as u32 * kernel::BURST_SIZE_LOG2;
        ends[size] = Some(1 << log2);
        size += 1;
    }
    ends
};
const SIZES: usize = kernel::BURST_SIZES as usize;
const BUCKETS: usize = kernel::LATENCY_BUCKETS as usize;
const TREATMENTS: usize = kernel::TREATMENTS as usize;

/// The bursts of some connections of a scope, since the agent was started.
#[derive(Clone, Debug, PartialEq)]
pub struct BurstLatencies {
    /// Name of the scope.
    pub scope: String,
    /// Whether the connections were switched. If not, they were held back or observed.
    pub switched: bool,
    /// The index of the size in [`BURST_SIZES`].
    pub size: usize,
    /// Sum of what the bursts took, seconds.
    pub sum_s: f64,
    /// How many took at most the bucket's upper end; see [`bucket_end_s`].
    pub buckets: [u64; BUCKETS],
}

impl BurstLatencies {
    /// How many bursts.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The quantile (0 to 1) of the latencies, seconds: the upper end of the bucket that it is in; None
    /// without bursts.
    pub fn quantile_s(&self, quantile: f64) -> Option<f64> {
        let wanted = (self.count() as f64 * quantile).ceil().max(1.0) as u64;
        let mut below = 0;
        let bucket = self.buckets.iter().position(|bursts| {
            below += bursts;
            below >= wanted
        });
        bucket.map(bucket_end_s)
    }
}

/// Upper end of a bucket, seconds: 2^10, 2^10.5, 2^11 and so on microseconds. The last bucket has no end; the
/// next number of the row is returned for it.
pub fn bucket_end_s(bucket: usize) -> f64 {
    let octaves = bucket as f64 / f64::from(kernel::LATENCY_BUCKETS_PER_OCTAVE);
    (f64::from(kernel::SHORTEST_LATENCY_LOG2) + octaves).exp2() / 1e6
}

/// The latencies for each scope, treatment and size that had a burst.
pub(crate) fn read(map: &MapHandle, policy: &Policy) -> Result<Vec<BurstLatencies>, Error> {
    let doing = || "reading burst latencies".to_owned();
    let mut latencies = Vec::new();
    for (number, scope) in policy.scopes.iter().enumerate() {
        for (arm, switched) in [true, false].into_iter().enumerate() {
            for size in 0..SIZES {
                let key = ((number * TREATMENTS + arm) * SIZES + size) as u32;
                let of_cpus = map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY).doing(doing)?;
                let mut sum = BurstLatencies {
                    scope: scope.name.clone(),
                    switched,
                    size,
                    sum_s: 0.0,
                    buckets: [0; BUCKETS],
                };
                for bytes in of_cpus.iter().flatten() {
                    let Ok((counted, _)) = burst_latencies::ref_from_prefix(bytes) else {
                        continue;
                    };
                    sum.sum_s += counted.sum_us as f64 / 1e6;
                    for (bucket, bursts) in sum.buckets.iter_mut().zip(counted.bursts) {
                        *bucket += bursts;
                    }
                }
                if sum.count() > 0 {
                    latencies.push(sum);
                }
            }
        }
    }
    Ok(latencies)
}

/// Sets the counts of a scope to zero, when another scope has its number.
pub(crate) fn forget(map: &MapHandle, number: usize) -> Result<(), Error> {
    let cpus = libbpf_rs::num_possible_cpus().doing(|| "counting CPUs".to_owned())?;
    let zeros = vec![vec![0; size_of::<burst_latencies>()]; cpus];
    for place in 0..TREATMENTS * SIZES {
        let key = (number * TREATMENTS * SIZES + place) as u32;
        map.update_percpu(&key.to_ne_bytes(), &zeros, MapFlags::ANY)
            .doing(|| "forgetting burst latencies".to_owned())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_ends_of_their_buckets() {
        let mut latencies = BurstLatencies {
            scope: "all".into(),
            switched: true,
            size: 0,
            sum_s: 0.0,
            buckets: [0; BUCKETS],
        };
        assert_eq!(latencies.quantile_s(0.5), None);
        latencies.buckets[4] = 90;
        latencies.buckets[6] = 10;
        assert_eq!(latencies.quantile_s(0.5), Some(bucket_end_s(4)));
        assert_eq!(latencies.quantile_s(0.9), Some(bucket_end_s(4)));
        assert_eq!(latencies.quantile_s(0.95), Some(bucket_end_s(6)));
        assert!((bucket_end_s(20) - 1.048_576).abs() < 1e-9);
    }
}
