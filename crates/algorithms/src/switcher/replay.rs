//! Calls of the switcher that were recorded in the kernel, played again: given the same, the native
//! build must decide the same, call by call (`bpf/interface/call_record.h`).

use std::collections::BTreeMap;
use std::fmt;
use std::ptr;
use std::sync::Arc;

use kirikae_interface::{latency_table, policy};

use crate::c;

/// Bytes of a recorded call.
pub const CALL_RECORD_BYTES: usize = size_of::<c::call_record>();

/// The latency tables of a policy, by the numbers that its scopes have for them.
pub type Tables = BTreeMap<u32, Arc<latency_table>>;

/// The version of what is recorded of a call.
pub const CALL_RECORD_VERSION: u32 = c::CALL_RECORD_VERSION;

/// Plays recorded calls again.
#[derive(Default)]
pub struct Replay {
    policies: BTreeMap<u32, (Box<policy>, Tables)>,
    connections: BTreeMap<u64, Remembered>,
    /// Calls whose outcome was compared.
    pub compared: u64,
    /// Calls after which the native build's state was taken from the record, because one before
    /// them is missing: nobody read it in time, or it was before the recording began.
    pub taken_over: u64,
    /// How many of the calls compared there were for each purpose.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// Switches, made or observed, among them.
    pub switches: u64,
}

/// What the native build remembers of a connection, and after which of its calls.
struct Remembered {
    serial: u32,
    connection: Box<c::connection>,
}

/// Why a recorded call could not be compared, or how its outcomes differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// It is not as long as a recorded call.
    Length(usize),
    /// It is of another version of the switcher.
    Version(u32),
    /// It was made under a policy that is not in the recording.
    Policy(u32),
    /// Its outcome is another.
    Differs {
        /// The number of the connection.
        connection: u64,
        /// The number of the call among the connection's, from 1.
        serial: u32,
        /// What it was for.
        kind: &'static str,
        /// The difference: lines with `-` are the kernel's, those with `+` the native build's.
        difference: String,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ReplayError::Length(bytes) => {
                write!(f, "a call of {bytes} bytes; allowed: {CALL_RECORD_BYTES}")
            }
            ReplayError::Version(found) => write!(
                f,
                "recorded by version {found} of the switcher; allowed: version {}",
                CALL_RECORD_VERSION
            ),
            ReplayError::Policy(generation) => {
                write!(f, "a call under policy {generation}, of which the recording has nothing")
            }
            ReplayError::Differs { connection, serial, kind, difference } => write!(
                f,
                "connection {connection:016x}, call {serial} ({kind}): the kernel (-) and the \
                 native build (+) differ in\n{difference}"
            ),
        }
    }
}

impl std::error::Error for ReplayError {}

impl Replay {
    /// Notes that a policy was activated.
    pub fn activate(&mut self, policy: Box<policy>, tables: Tables) {
        self.policies.insert(policy.generation, (policy, tables));
    }

    /// Plays a call. Calls for a connection must come in their order.
    ///
    /// # Errors
    /// Fails with what differs from the kernel, or why it cannot be compared. What follows is compared
    /// with the kernel's outcome of this one as its beginning.
    pub fn call(&mut self, bytes: &[u8]) -> Result<(), ReplayError> {
        let record = read(bytes)?;
        let Some((policy, tables)) = self.policies.get(&record.generation) else {
            return Err(ReplayError::Policy(record.generation));
        };
        let kernel = record.after;
        let before = self.connections.remove(&record.connection);
        let known = match before {
            Some(before) if before.serial + 1 == record.serial => Some(before.connection),
            None if record.was_remembered == 0 => Some(Box::default()),
            _ => None,
        };
        if record.is_remembered != 0 {
            let remembered = Remembered { serial: record.serial, connection: Box::new(kernel) };
            self.connections.insert(record.connection, remembered);
        }
        let Some(mut native) = known else {
            self.taken_over += 1;
            return Ok(());
        };
        let switches = native.switches;
        let is_same = replay(&record, policy, tables, &mut native);
        self.compared += 1;
        *self.by_kind.entry(kind(record.call.op)).or_default() += 1;
        if record.is_remembered == 0 && is_same {
            return Ok(());
        }
        self.switches += u64::from(native.switches != switches);
        if is_same && *native == kernel {
            return Ok(());
        }
        let mut difference = lines_that_differ(&kernel, &native);
        if !is_same {
            difference += "what the host was asked for, or is to call back for\n";
        }
        Err(ReplayError::Differs {
            connection: record.connection,
            serial: record.serial,
            kind: kind(record.call.op),
            difference,
        })
    }
}

fn read(bytes: &[u8]) -> Result<Box<c::call_record>, ReplayError> {
    if bytes.len() != CALL_RECORD_BYTES {
        return Err(ReplayError::Length(bytes.len()));
    }
    let mut record = Box::<c::call_record>::default();
    // SAFETY: the sizes are the same, and every bit pattern is valid for numbers, of which the struct
    // consists.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut *record).cast(), bytes.len()) };
    if record.version != CALL_RECORD_VERSION {
        return Err(ReplayError::Version(record.version));
    }
    Ok(record)
}

fn replay(
    record: &c::call_record,
    policy: &policy,
    tables: &Tables,
    connection: &mut c::connection,
) -> bool {
    // Every number that a scope may have for a table, so that none leads astray.
    let scopes = policy.scope.iter().map(|scope| scope.table);
    let numbers = scopes.max().unwrap_or(0) + 1;
    let pointer = |number| tables.get(&number).map_or(ptr::null(), |table| ptr::from_ref(&**table));
    let pointers: Vec<*const latency_table> = (0..numbers).map(pointer).collect();
    // SAFETY: everything lives through the call; the C keeps no pointer to it, and asks a host that
    // is the record alone.
    unsafe { c::kk_replay(record, policy, pointers.as_ptr(), connection) }
}

fn kind(op: u32) -> &'static str {
    match op {
        c::BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB | c::BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB => {
            "established"
        }
        c::CALL_FOUND => "found",
        c::BPF_SOCK_OPS_RTT_CB => "round trip",
        c::BPF_SOCK_OPS_RETRANS_CB => "retransmission",
        c::BPF_SOCK_OPS_RTO_CB => "timeout",
        c::BPF_SOCK_OPS_STATE_CB => "state",
        c::BPF_SOCK_OPS_HDR_OPT_LEN_CB => "segment",
        _ => "another",
    }
}

/// Field by field, as they are printed.
fn lines_that_differ(kernel: &c::connection, native: &c::connection) -> String {
    let (kernel, native) = (format!("{kernel:#?}"), format!("{native:#?}"));
    let both = kernel.lines().zip(native.lines()).filter(|(kernel, native)| kernel != native);
    both.map(|(kernel, native)| format!("-{kernel}\n+{native}\n")).collect()
}
