//! What the switcher costs, as the kernel counts it.

use std::time::Duration;

use libbpf_rs::Link;
use libbpf_rs::query::ProgInfoIter;
use serde::{Deserialize, Serialize};

use crate::error::{Doing, Error};

/// The processor time that a program took so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// How often it ran.
    pub runs: u64,
    /// How long all runs took together.
    pub time: Duration,
}

pub(crate) fn read(link: &Link) -> Result<Cost, Error> {
    let id = link.info().doing(|| "asking for the switcher's program".to_owned())?.prog_id;
    let program = ProgInfoIter::default().find(|program| program.id == id);
    Ok(program.map_or(Cost::default(), |program| Cost {
        runs: program.run_cnt,
        time: Duration::from_nanos(program.run_time_ns),
    }))
}
