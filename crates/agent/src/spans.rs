//! How far spans of bursts were from the usual latency, as counted in the kernel
//! (`bpf/interface/span_sums.h`).

use kirikae_guard::{Arms, STRATA, Spans, Strata};
use kirikae_interface as kernel;
use kirikae_interface::span_sums;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use zerocopy::FromBytes;

use crate::error::{Doing, Error};

const TREATMENTS: usize = kernel::TREATMENTS as usize;
const OCTAVE: f64 = kernel::SPAN_OCTAVE as f64;

const _: () = assert!(STRATA == kernel::SPAN_STRATA as usize);

/// The spans of the scope of that number, since its share of held-back connections was last changed.
pub(crate) fn read(map: &MapHandle, scope: usize) -> Result<Strata, Error> {
    let mut strata = Strata::default();
    for (stratum, arms) in strata.0.iter_mut().enumerate() {
        let Arms { switched, stock } = arms;
        for (arm, spans) in [switched, stock].into_iter().enumerate() {
            let key = key(scope, stratum, arm);
            let of_cpus = map.lookup_percpu(&key, MapFlags::ANY);
            for bytes in of_cpus.doing(|| "reading spans".to_owned())?.iter().flatten() {
                if let Ok((counted, _)) = span_sums::ref_from_prefix(bytes) {
                    add(spans, counted);
                }
            }
        }
    }
    Ok(strata)
}

/// Sets the counts of a scope to zero.
pub(crate) fn forget(map: &MapHandle, scope: usize) -> Result<(), Error> {
    let doing = || "forgetting spans".to_owned();
    let cpus = libbpf_rs::num_possible_cpus().doing(doing)?;
    let zeros = vec![vec![0; size_of::<span_sums>()]; cpus];
    for stratum in 0..STRATA {
        for arm in 0..TREATMENTS {
            map.update_percpu(&key(scope, stratum, arm), &zeros, MapFlags::ANY).doing(doing)?;
        }
    }
    Ok(())
}

/// The same as span_sums_key() of `bpf/interface/span_sums.h`. Arm 0 is that of switched spans.
fn key(scope: usize, stratum: usize, arm: usize) -> [u8; 4] {
    (((scope * STRATA + stratum) * TREATMENTS + arm) as u32).to_ne_bytes()
}

fn add(spans: &mut Spans, counted: &span_sums) {
    spans.spans += counted.spans;
    spans.bursts += counted.bursts;
    spans.sum += counted.sum as f64 / OCTAVE;
    spans.squares += counted.squares as f64 / (OCTAVE * OCTAVE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_in_octaves() {
        let mut spans = Spans::default();
        add(
            &mut spans,
            &span_sums { spans: 2, bursts: 8, sum: -4096 * 3, squares: 4096 * 4096 * 5 },
        );
        add(&mut spans, &span_sums { spans: 2, bursts: 8, sum: 4096, squares: 4096 * 4096 });
        assert_eq!(spans, Spans { spans: 4, bursts: 16, sum: -2.0, squares: 6.0 });
    }
}
