//! Connections that the kernel has refused to switch, as counted there (`bpf/switcher/bind/reports.h`).

use kirikae_interface::{REFUSAL_LOCKED_ROUTE, REFUSAL_OTHER};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde::{Deserialize, Serialize};
use zerocopy::FromBytes;

use crate::error::{Doing, Error};

/// How many connections the kernel has refused to switch since the agent was started. One that a new policy has
/// tried again counts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// Because their route has an algorithm and locks it.
    pub locked_route: u64,
    /// For another reason.
    pub other: u64,
}

impl Refusals {
    /// How many there are with each reason.
    pub fn by_reason(self) -> [(u64, &'static str); 2] {
        let Refusals { locked_route, other } = self;
        [
            (locked_route, "their route locks its own (`congctl lock`)"),
            (other, "no reason is given"),
        ]
    }
}

pub(crate) fn read(map: &MapHandle) -> Result<Refusals, Error> {
    let count = |why: u32| {
        let bytes = map.lookup(&why.to_ne_bytes(), MapFlags::ANY);
        let bytes = bytes.doing(|| "reading what the kernel has refused".to_owned())?;
        Ok(bytes.and_then(|bytes| u64::read_from_bytes(&bytes).ok()).unwrap_or_default())
    };
    Ok(Refusals { locked_route: count(REFUSAL_LOCKED_ROUTE)?, other: count(REFUSAL_OTHER)? })
}
