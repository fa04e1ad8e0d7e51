//! How the path memory was used, as counted in the kernel (`bpf/switcher/bind/path_counts.h`).

use kirikae_interface::{
    PATH_COUNT_FIRST_FLIGHTS, PATH_COUNT_HITS, PATH_COUNT_JUMPS, PATH_COUNT_RETREATS,
};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde::{Deserialize, Serialize};
use zerocopy::FromBytes;

use crate::error::{Doing, Error};

/// How the path memory was used since the agent was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCounts {
    /// New connections whose path was known.
    pub hits: u64,
    /// Those that began by Careful Resume.
    pub jumps: u64,
    /// Those that began with a first window of what was measured.
    pub first_flights: u64,
    /// Those of both that retreated after a loss.
    pub retreats: u64,
}

pub(crate) fn read(map: &MapHandle) -> Result<PathCounts, Error> {
    let count = |what: u32| {
        let of_cpus = map.lookup_percpu(&what.to_ne_bytes(), MapFlags::ANY);
        let of_cpus = of_cpus.doing(|| "reading how the path memory was used".to_owned())?;
        let each = of_cpus.iter().flatten().filter_map(|bytes| u64::read_from_bytes(bytes).ok());
        Ok(each.sum())
    };
    Ok(PathCounts {
        hits: count(PATH_COUNT_HITS)?,
        jumps: count(PATH_COUNT_JUMPS)?,
        first_flights: count(PATH_COUNT_FIRST_FLIGHTS)?,
        retreats: count(PATH_COUNT_RETREATS)?,
    })
}
