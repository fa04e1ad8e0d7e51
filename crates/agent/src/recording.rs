//! Calls of the switcher as they are in the kernel, for whoever plays them again
//! (`bpf/interface/call_record.h`).

use std::collections::BTreeMap;
use std::sync::Arc;

use kirikae_interface::policy;
use kirikae_table::KernelTable;

/// What is recorded, in order.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// A policy is put in force; the calls for it come after it.
    Policy {
        /// As the switcher reads it.
        policy: Box<policy>,
        /// The tables that its scopes name, by their numbers.
        tables: BTreeMap<u32, Arc<KernelTable>>,
    },
    /// A call: the bytes of a `struct call_record`.
    Call(Vec<u8>),
}
