//! How far spans of bursts were from the usual latency, as counted in the kernel for each group of connections
//! (`bpf/interface/span_sums.h`).

use kirikae_guard::{Arms, STRATA, Spans, Strata};
use kirikae_interface as kernel;
use kirikae_interface::{span_group, span_group_key, span_sums};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::error::{Doing, Error};

/// The map of the groups.
pub(crate) const GROUPS: &str = "span_groups";
/// In place of a cgroup's id: all others of the scope, for which there was no room.
pub const OTHERS: u64 = 0;

const TREATMENTS: usize = kernel::TREATMENTS as usize;
const OCTAVE: f64 = kernel::SPAN_OCTAVE as f64;

const _: () = assert!(STRATA == kernel::SPAN_STRATA as usize);

/// The connections of a scope that are in one cgroup, and what was counted of their spans.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanGroup {
    /// The cgroup's id, or [`OTHERS`].
    pub cgroup: u64,
    /// What is held back of it.
    pub share: Share,
    /// The number of its experiment: sums are of spans whose lots were drawn in this one.
    pub epoch: u32,
    /// What was counted.
    pub sums: Strata,
}

/// Which share of its spans a group holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u32);

impl Share {
    /// That of the scope.
    pub const OF_THE_SCOPE: Share = Share(0);
    /// All of them.
    pub const ALL: Share = Share(kernel::SPAN_SHARE_ALL);

    /// Of its own: above 0, to 1.
    pub fn own(share: f64) -> Share {
        Share(((share * f64::from(u32::MAX)) as u32).max(1))
    }
}

/// Those of the scope of that number.
pub(crate) fn read(map: &MapHandle, scope: usize) -> Result<Vec<SpanGroup>, Error> {
    let mut groups = Vec::new();
    for bytes in map.keys() {
        let Ok((found, _)) = span_group_key::read_from_prefix(&bytes) else { continue };
        if found.scope as usize != scope {
            continue;
        }
        // One that has gone since is not missed.
        let value = map.lookup(&bytes, MapFlags::ANY).doing(|| "reading spans".to_owned())?;
        let Some((group, _)) = value.as_deref().and_then(|it| span_group::ref_from_prefix(it).ok())
        else {
            continue;
        };
        let (share, epoch) = (Share(group.share), group.epoch);
        groups.push(SpanGroup { cgroup: found.cgroup, share, epoch, sums: strata(&group.sums) });
    }
    Ok(groups)
}

/// Has a group begin another experiment: with another share, and nothing counted.
pub(crate) fn begin(
    map: &MapHandle,
    scope: usize,
    cgroup: u64,
    share: Share,
    epoch: u32,
) -> Result<(), Error> {
    let group = span_group { share: share.0, epoch, ..span_group::new_zeroed() };
    map.update(key(scope, cgroup).as_bytes(), group.as_bytes(), MapFlags::ANY)
        .doing(|| "beginning to count spans".to_owned())
}

/// Forgets a group.
pub(crate) fn forget(map: &MapHandle, scope: usize, cgroup: u64) -> Result<(), Error> {
    match map.delete(key(scope, cgroup).as_bytes()) {
        Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
            Err(error).doing(|| "forgetting spans".to_owned())
        }
        _ => Ok(()),
    }
}

/// Forgets all groups of a scope, and makes the one of all others.
pub(crate) fn begin_scope(map: &MapHandle, scope: usize) -> Result<(), Error> {
    for group in read(map, scope)? {
        forget(map, scope, group.cgroup)?;
    }
    begin(map, scope, OTHERS, Share::OF_THE_SCOPE, 0)
}

fn key(scope: usize, cgroup: u64) -> span_group_key {
    span_group_key { cgroup, scope: scope as u32, zero: 0 }
}

/// The sums are at span_sums_place() of `bpf/interface/span_sums.h`. Arm 0 is that of switched spans.
fn strata(sums: &[span_sums]) -> Strata {
    let mut strata = Strata::default();
    for (arms, sums) in strata.0.iter_mut().zip(sums.chunks(TREATMENTS)) {
        let Arms { switched, stock } = arms;
        for (spans, counted) in [switched, stock].into_iter().zip(sums) {
            *spans = in_octaves(counted);
        }
    }
    strata
}

fn in_octaves(counted: &span_sums) -> Spans {
    Spans {
        spans: counted.spans,
        bursts: counted.bursts,
        sum: counted.sum as f64 / OCTAVE,
        squares: counted.squares as f64 / (OCTAVE * OCTAVE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_in_octaves() {
        let mut sums = [const { span_sums { spans: 0, bursts: 0, sum: 0, squares: 0 } };
            kernel::SPAN_SUMS as usize];
        sums[2 * TREATMENTS + 1] =
            span_sums { spans: 2, bursts: 10, sum: -4096 * 3, squares: 4096 * 4096 * 5 };
        let strata = strata(&sums);
        let expected = Spans { spans: 2, bursts: 10, sum: -3.0, squares: 5.0 };
        assert_eq!((strata.0[2].stock, strata.spans()), (expected, [0, 2]));
    }

    #[test]
    fn a_share_of_its_own_is_never_that_of_the_scope() {
        assert_eq!(Share::own(1.0), Share::ALL);
        assert_ne!(Share::own(1e-12), Share::OF_THE_SCOPE);
    }
}
