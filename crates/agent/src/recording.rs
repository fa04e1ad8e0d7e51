//! Calls of the switcher as they were in the kernel, to be played again (`bpf/interface/call_record.h`).

use std::collections::BTreeMap;
use std::sync::Arc;

use kirikae_interface::policy;
use kirikae_table::KernelTable;

/// One thing that is recorded, in order.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// A policy becomes active; the calls for it come after it.
    Policy {
        /// The policy as the switcher reads it.
        policy: Box<policy>,
        /// The tables that its scopes name, by their numbers.
        tables: BTreeMap<u32, Arc<KernelTable>>,
    },
    /// A call, as the bytes of a `struct call_record`.
    Call(Vec<u8>),
}
