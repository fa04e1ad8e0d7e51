//! How much longer than usual spans of bursts took, counted in the kernel (`bpf/switcher/comparison.h`).

use kirikae_interface as kernel;
use kirikae_interface::span_sums;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use zerocopy::FromBytes;

use crate::error::{Doing, Error};

const TREATMENTS: usize = kernel::TREATMENTS as usize;
const STEPS: f64 = kernel::SPAN_OCTAVE as f64;

/// Spans of a scope with one treatment, since the share that is held back is what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpanSums {
    /// How many.
    pub spans: u64,
    /// Bursts in them that were counted.
    pub bursts: u64,
    /// Sum of how far above the usual each was: octaves of latency.
    pub sum: f64,
    /// Sum of the squares of that.
    pub squares: f64,
}

impl SpanSums {
    fn add(&mut self, counted: &span_sums) {
        self.spans += counted.spans;
        self.bursts += counted.bursts;
        self.sum += counted.sum as f64 / STEPS;
        self.squares += counted.squares as f64 / (STEPS * STEPS);
    }
}

/// Those of a scope by its number: that were switched, and that were held back.
pub(crate) fn read(map: &MapHandle, scope: usize) -> Result<[SpanSums; TREATMENTS], Error> {
    let doing = || "reading spans".to_owned();
    let mut sums = [SpanSums::default(); TREATMENTS];
    for (arm, sum) in sums.iter_mut().enumerate() {
        let key = (scope * TREATMENTS + arm) as u32;
        let of_cpus = map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY).doing(doing)?;
        for bytes in of_cpus.iter().flatten() {
            if let Ok((counted, _)) = span_sums::ref_from_prefix(bytes) {
                sum.add(counted);
            }
        }
    }
    Ok(sums)
}

/// Begins anew for a scope.
pub(crate) fn forget(map: &MapHandle, scope: usize) -> Result<(), Error> {
    let cpus = libbpf_rs::num_possible_cpus().doing(|| "counting CPUs".to_owned())?;
    let zeros = vec![vec![0; size_of::<span_sums>()]; cpus];
    for arm in 0..TREATMENTS {
        let key = (scope * TREATMENTS + arm) as u32;
        map.update_percpu(&key.to_ne_bytes(), &zeros, MapFlags::ANY)
            .doing(|| "forgetting spans".to_owned())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_in_octaves() {
        let mut sums = SpanSums::default();
        let counted = |sum, squares| span_sums { spans: 2, bursts: 24, sum, squares };
        sums.add(&counted(-4096 * 3, 4096 * 4096 * 5));
        sums.add(&counted(4096, 4096 * 4096));
        assert_eq!(sums, SpanSums { spans: 4, bursts: 48, sum: -2.0, squares: 6.0 });
    }
}
