//! The switcher, `bpf/switcher/`: a connection's way through it, and its parts.

use std::ffi::c_char;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::c;
use crate::{Algorithm, Socket};

/// Switches connections as the switcher in the kernel does, by the same code. What it remembers of
/// a connection is the socket's; a clone shares the table.
#[derive(Clone)]
pub struct Switcher {
    shared: Arc<Shared>,
}

struct Shared {
    table: c::latency_table,
    /// What each column in use stands for.
    columns: Vec<Algorithm>,
    fixed_period_us: u32,
    timeouts: Timeouts,
}

/// What becomes of the retransmission timer of a connection that is switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timeouts {
    /// Lowered and bounded as `bpf/switcher/timeouts.h` says.
    Adapted,
    /// As the kernel has it.
    Kernel,
}

/// A switch that was made, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Switch {
    /// The algorithm left.
    pub from: Algorithm,
    /// The algorithm taken up.
    pub to: Algorithm,
    /// Smoothed round-trip time.
    pub rtt_us: u32,
    /// Isolated losses per 10^9 segments sent, smoothed.
    pub isolated_ppb: u32,
    /// Burst losses per 10^9 segments sent, smoothed.
    pub burst_ppb: u32,
    /// Latency predicted for each candidate, in the table's order.
    pub predicted_us: Vec<(&'static str, u32)>,
}

/// The table chooses among an algorithm, of this name, that is no candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCandidate(pub String);

impl fmt::Display for NoCandidate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the table chooses among {}, which is no candidate", self.0)
    }
}

impl std::error::Error for NoCandidate {}

/// The algorithms that it switches among.
impl fmt::Debug for Switcher {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Switcher").field(&self.shared.columns).finish()
    }
}

impl Switcher {
    /// `table` are the bytes of a `struct latency_table`; `candidates` are what its names stand for,
    /// with their parameters. `fixed_period_us` 0: the measuring period is one smoothed round trip.
    ///
    /// # Errors
    /// Where a name in the table is none of a candidate.
    ///
    /// # Panics
    /// Where `table` has not the size of one, or has no column.
    pub fn new(
        table: &[u8],
        fixed_period_us: u32,
        timeouts: Timeouts,
        candidates: &[Algorithm],
    ) -> Result<Switcher, NoCandidate> {
        let table = read_table(table);
        let names = table.name.iter().take(table.algorithms as usize);
        let columns = names
            .map(|name| {
                let candidate = |algorithm: &&Algorithm| padded(algorithm.name()) == *name;
                let unknown = || {
                    let bytes: Vec<u8> = name.iter().map(|byte| byte.cast_unsigned()).collect();
                    let text = String::from_utf8_lossy(&bytes);
                    NoCandidate(text.trim_end_matches('\0').to_owned())
                };
                candidates.iter().find(candidate).copied().ok_or_else(unknown)
            })
            .collect::<Result<_, _>>()?;
        assert!(table.algorithms > 0, "a table has a column");
        Ok(Switcher { shared: Arc::new(Shared { table, columns, fixed_period_us, timeouts }) })
    }

    /// A connection is established. (A socket that is connected anew keeps what is remembered.) One
    /// whose program chose its algorithm itself (`icsk_ca_setsockopt`) is left alone.
    pub fn met(&self, socket: &mut Socket) {
        if socket.connection.is_none() {
            if socket.fields.inet_conn.icsk_ca_setsockopt() != 0 {
                return;
            }
            let original = padded(socket.algorithm().name());
            let mut connection = Box::new(c::connection { original, ..Default::default() });
            // SAFETY of every call here: plain data that the C code only uses during the call.
            if !unsafe { c::kk_connection_met(&mut *connection, &self.shared.table) } {
                return;
            }
            socket.connection = Some(connection);
        }
        if let Some(connection) = &mut socket.connection {
            unsafe { c::kk_measuring_begin(&mut **connection, &socket.fields) };
            if self.shared.timeouts == Timeouts::Adapted {
                let (timeouts, fields) = (&mut connection.timeouts, &mut socket.fields);
                let wanted_us = unsafe { c::kk_rto_min_begin(timeouts, fields, fields.rto_min_us) };
                set_rto_min(timeouts, fields, wanted_us);
            }
        }
    }

    /// An ACK brought an RTT sample, the first of a round trip: to be called before the socket's srtt
    /// takes it up and before `pkts_acked`, as in the kernel. Switches where that is the choice.
    pub fn rtt_sample(&self, socket: &mut Socket) -> Option<Switch> {
        let Shared { table, columns, fixed_period_us, timeouts } = &*self.shared;
        if *timeouts == Timeouts::Adapted {
            renew_timeouts(socket);
        }
        let from = socket.algorithm();
        let connection = measured(socket.connection.as_deref_mut())?;
        let mut decision = c::decision::default();
        let switches = unsafe {
            c::kk_choice_is_due(connection, &socket.fields, *fixed_period_us)
                && c::kk_decide(
                    connection,
                    &socket.fields,
                    table,
                    padded(from.name()).as_ptr(),
                    &mut decision,
                )
        };
        if !switches {
            return None;
        }
        let to = columns[decision.to as usize];
        socket.switch_to(to);
        let connection = socket.connection.as_deref_mut().expect("a switch keeps it");
        unsafe { c::kk_switched(connection, table, &decision) };
        let predicted = columns.iter().zip(decision.predicted_us.of);
        Some(Switch {
            from,
            to,
            rtt_us: decision.measured.rtt_us,
            isolated_ppb: decision.measured.isolated_ppb,
            burst_ppb: decision.measured.burst_ppb,
            predicted_us: predicted.map(|(algorithm, us)| (algorithm.name(), us)).collect(),
        })
    }

    /// The retransmission timer has gone off, after `earlier` times in a row: to be called before
    /// the timeout is doubled.
    pub fn timed_out(&self, socket: &mut Socket, earlier: u32) {
        let Some(connection) = socket.connection.as_deref_mut() else { return };
        if self.shared.timeouts == Timeouts::Kernel {
            return;
        }
        let (timeouts, fields) = (&mut connection.timeouts, &mut socket.fields);
        if !unsafe { c::kk_back_off_is_bounded(fields, earlier) } {
            unbound_back_off(timeouts, fields);
        } else if fields.rto_max_ms > c::BOUNDED_RTO_MS {
            timeouts.kernel_max_ms = fields.rto_max_ms;
            fields.rto_max_ms = c::BOUNDED_RTO_MS;
        }
    }

    /// `segments` with `bytes` from sequence number `seq` on were sent again.
    pub fn retransmitted(&self, socket: &mut Socket, seq: u32, segments: u32, bytes: u32) {
        if let Some(connection) = measured(socket.connection.as_deref_mut()) {
            unsafe { c::kk_loss_runs_retransmit(&mut connection.runs, seq, segments, bytes) }
        }
    }
}

fn renew_timeouts(socket: &mut Socket) {
    let Some(connection) = socket.connection.as_deref_mut() else { return };
    let (timeouts, fields) = (&mut connection.timeouts, &mut socket.fields);
    unbound_back_off(timeouts, fields);
    // SAFETY: plain data that the C code only uses during the call.
    let wanted_us = unsafe { c::kk_rto_min_renew(timeouts, fields) };
    set_rto_min(timeouts, fields, wanted_us);
}

fn set_rto_min(timeouts: &mut c::timeouts, fields: &mut c::tcp_sock, wanted_us: u32) {
    if wanted_us > 0 {
        fields.rto_min_us = wanted_us;
        // SAFETY: as above.
        unsafe { c::kk_rto_min_set(timeouts, wanted_us, wanted_us) }
    }
}

fn unbound_back_off(timeouts: &mut c::timeouts, fields: &mut c::tcp_sock) {
    if timeouts.kernel_max_ms > 0 {
        fields.rto_max_ms = timeouts.kernel_max_ms;
        timeouts.kernel_max_ms = 0;
    }
}

/// What is remembered of a connection that was met and is not left alone.
fn measured(connection: Option<&mut c::connection>) -> Option<&mut c::connection> {
    connection.filter(|c| c.flags & c::connection_flags_CONNECTION_LEFT_ALONE == 0)
}

/// A name as the C keeps it.
fn padded(name: &str) -> [c_char; c::TCP_CA_NAME_MAX as usize] {
    let mut padded = [0; _];
    for (place, byte) in padded.iter_mut().zip(name.bytes()) {
        *place = byte.cast_signed();
    }
    padded
}

/// # Panics
/// Where `bytes` has not the size of a table.
fn read_table(bytes: &[u8]) -> c::latency_table {
    assert_eq!(bytes.len(), size_of::<c::latency_table>(), "bytes of a latency_table");
    // SAFETY: the size is right and every bit pattern is valid for arrays of numbers.
    unsafe { bytes.as_ptr().cast::<c::latency_table>().read_unaligned() }
}

/// Lost segments sorted into runs.
#[derive(Clone, Debug, Default)]
pub struct LossRuns(c::loss_runs);

impl LossRuns {
    /// `segments` with `bytes` from sequence number `seq` on are sent again.
    pub fn retransmit(&mut self, seq: u32, segments: u32, bytes: u32) {
        // SAFETY: both structs are plain data that the C code only uses during the call.
        unsafe { c::kk_loss_runs_retransmit(&mut self.0, seq, segments, bytes) }
    }

    /// The socket's count of segments that the receiver reported to have had already.
    pub fn dsack(&mut self, dsack_dups: u32) {
        // SAFETY: as above.
        unsafe { c::kk_loss_runs_dsack(&mut self.0, dsack_dups) }
    }

    /// Segments lost in runs of at most 2, in this period; negative where more of earlier periods
    /// turned out not to have been lost.
    pub fn isolated(&self) -> i32 {
        self.0.isolated
    }

    /// Runs of at least 3, in this period; negative likewise.
    pub fn bursts(&self) -> i32 {
        self.0.bursts
    }
}

/// The measuring period in use (microseconds); `fixed_us` 0: one smoothed round trip.
pub fn period_us(fixed_us: u32, srtt_us: u32) -> u32 {
    // SAFETY: takes and gives numbers.
    unsafe { c::kk_estimator_period_us(fixed_us, srtt_us) }
}

/// Smoothed loss rates.
#[derive(Clone, Debug, Default)]
pub struct Estimator(c::estimator);

impl Estimator {
    /// Ends the period when it is over; whether it was, and there are new rates.
    pub fn update(
        &mut self,
        runs: &mut LossRuns,
        now_us: u64,
        period_us: u32,
        segs_out: u32,
    ) -> bool {
        // SAFETY: plain data that the C code only uses during the call.
        unsafe { c::kk_estimator_update(&mut self.0, &mut runs.0, now_us, period_us, segs_out) }
    }

    /// Isolated losses per segment sent.
    pub fn isolated_rate(&self) -> f64 {
        f64::from(self.0.isolated_ppb) / 1e9
    }

    /// Burst losses per segment sent.
    pub fn burst_rate(&self) -> f64 {
        f64::from(self.0.burst_ppb) / 1e9
    }
}

/// What a choice is made by.
pub type Measured = c::measured;

/// A choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Column of the algorithm chosen.
    pub column: usize,
    /// Predicted latency of every column (microseconds), unused columns 0.
    pub predicted_us: [u32; c::TABLE_ALGORITHMS as usize],
}

/// Chooses. `table` are the bytes of a `struct latency_table`.
///
/// # Panics
/// Where `table` has not the size of one.
pub fn choose(table: &[u8], measured: &Measured) -> Choice {
    let table = read_table(table);
    let mut predicted = c::columns::default();
    // SAFETY: plain data that the C code only uses during the call.
    let column = unsafe { c::kk_choose(&table, measured, &mut predicted) };
    Choice { column: column as usize, predicted_us: predicted.of }
}

#[cfg(test)]
mod tests {
    /// The table crate lays the table out in Rust; this crate knows the C.
    #[test]
    fn table_has_the_same_layout_in_both_languages() {
        use super::c::latency_table;
        use kirikae_table::KernelTable;
        use std::mem::offset_of;

        assert_eq!(size_of::<latency_table>(), size_of::<KernelTable>());
        macro_rules! same_place {
            ($($field:ident)*) => {
                $(assert_eq!(offset_of!(latency_table, $field), offset_of!(KernelTable, $field));)*
            };
        }
        same_place!(algorithms rtts losses bandwidths name also rtt_us loss_ppb isolated_us);
        same_place!(burst_ppb bandwidth_us);
    }
}
