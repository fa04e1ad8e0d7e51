//! The switcher, `bpf/switcher/`: a connection's way through it.

mod parts;

use std::ffi::c_char;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::c;
use crate::{Algorithm, Socket};
use parts::boxed;

pub use parts::{
    Belief, Estimator, LatencyTable, LossRuns, Measured, Period, Predicted, exp2_fixed, log2_fixed,
    period_us,
};

/// Switches connections as the switcher in the kernel does, by the same code. What it remembers of
/// a connection is the socket's; a clone shares the table.
#[derive(Clone)]
pub struct Switcher {
    tables: Arc<Tables>,
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

/// What is chosen by.
enum Tables {
    /// Nothing: connections are measured and keep their algorithm.
    None,
    /// A latency table, and what each of its columns stands for.
    Latency(LatencyTable, Vec<Algorithm>),
    /// The thesis' tables, likewise.
    Rtcp(Box<c::rtcp_table>, Vec<Algorithm>),
}

/// A switch that was made, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Switch {
    /// The algorithm left.
    pub from: Algorithm,
    /// The algorithm taken up.
    pub to: Algorithm,
    /// Round-trip time: the lowest of late; by the thesis, the smoothed one.
    pub rtt_us: u32,
    /// Rate of the bottleneck, bytes per millisecond; 0: not known.
    pub rate: u32,
    /// Bytes of a burst; 0: not known.
    pub burst: u32,
    /// Isolated losses per 10^9 segments sent, smoothed.
    pub isolated_ppb: u32,
    /// Burst losses per 10^9 segments sent, smoothed.
    pub burst_ppb: u32,
    /// Latency predicted for each candidate, in the table's order; none by a rule that predicts none,
    /// nor is loss measured there.
    pub predicted_us: Vec<(&'static str, u32)>,
}

/// What was lost on a connection since it was established, up to its latest measuring period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Segments sent.
    pub segments: u64,
    /// Those lost in runs of at most 2.
    pub isolated: i64,
    /// Runs of at least 3.
    pub bursts: i64,
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
        f.debug_tuple("Switcher").field(&self.columns()).finish()
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
        let table = LatencyTable::new(table);
        let columns = columns(&table.0.name, table.0.algorithms, candidates)?;
        Ok(Switcher {
            tables: Arc::new(Tables::Latency(table, columns)),
            fixed_period_us,
            timeouts,
        })
    }

    /// R-TCP as published: `table` are the bytes of a `struct rtcp_table`, the rest as above.
    ///
    /// # Errors
    /// As [`new`](Switcher::new).
    ///
    /// # Panics
    /// As [`new`](Switcher::new).
    pub fn rtcp(
        table: &[u8],
        fixed_period_us: u32,
        timeouts: Timeouts,
        candidates: &[Algorithm],
    ) -> Result<Switcher, NoCandidate> {
        let table: Box<c::rtcp_table> = boxed(table);
        let columns = columns(&table.name, table.algorithms, candidates)?;
        Ok(Switcher { tables: Arc::new(Tables::Rtcp(table, columns)), fixed_period_us, timeouts })
    }

    /// One that never switches, and only measures.
    pub fn measuring(fixed_period_us: u32, timeouts: Timeouts) -> Switcher {
        Switcher { tables: Arc::new(Tables::None), fixed_period_us, timeouts }
    }

    fn columns(&self) -> &[Algorithm] {
        match &*self.tables {
            Tables::None => &[],
            Tables::Latency(_, columns) | Tables::Rtcp(_, columns) => columns,
        }
    }

    /// A connection is established. (A socket that is connected anew keeps what is remembered.) One
    /// whose program chose its algorithm itself (`icsk_ca_setsockopt`) is left alone.
    pub fn met(&self, socket: &mut Socket) {
        if socket.connection.is_none() {
            if socket.fields.inet_conn.icsk_ca_setsockopt() != 0 {
                return;
            }
            let original = Name::new(socket.algorithm().name()).0;
            let mut connection = Box::new(c::connection { original, ..Default::default() });
            // SAFETY of every call here: plain data that the C code only uses during the call.
            if !unsafe { c::kk_connection_met(&mut *connection) } {
                return;
            }
            socket.connection = Some(connection);
        }
        if let Some(connection) = &mut socket.connection {
            unsafe { c::kk_measuring_begin(&mut **connection, &socket.fields) };
            if let Tables::Latency(table, _) = &*self.tables {
                unsafe { c::kk_belief_begin(&mut connection.belief, &*table.0) };
            }
            if self.timeouts == Timeouts::Adapted {
                let (timeouts, fields) = (&mut connection.timeouts, &mut socket.fields);
                let wanted_us = unsafe { c::kk_rto_min_begin(timeouts, fields, fields.rto_min_us) };
                set_rto_min(timeouts, fields, wanted_us);
            }
        }
    }

    /// An ACK brought an RTT sample, the first of a round trip: to be called before the socket's srtt
    /// takes it up and before `pkts_acked`, as in the kernel. Switches where that is the choice.
    pub fn rtt_sample(&self, socket: &mut Socket, sample_us: u32) -> Option<Switch> {
        if self.timeouts == Timeouts::Adapted {
            renew_timeouts(socket);
        }
        let from = socket.algorithm();
        let connection = measured(socket.connection.as_deref_mut())?;
        let fields = &socket.fields;
        let mut period = Period::default();
        let over = unsafe {
            c::kk_period_is_over(connection, fields, sample_us, self.fixed_period_us, &mut period)
        };
        if over && let Tables::Latency(table, _) = &*self.tables {
            let (_, corners) = measure(connection, fields, table);
            unsafe { c::kk_learn(connection, &*table.0, &corners, &period) };
        }
        let in_use = Name::new(from.name());
        let may = unsafe {
            c::kk_choice_is_due(connection, fields)
                && !c::kk_is_left_alone(connection, fields, in_use.as_ptr())
        };
        if !may {
            return None;
        }
        let choice = self.choose(connection, fields)?;
        let to = self.columns()[choice.column];
        let name = Name::new(to.name());
        if name.0 == connection.current {
            return None;
        }
        let estimator = connection.estimator;
        unsafe { c::kk_switching(connection, fields, name.as_ptr()) };
        socket.switch_to(to);
        let connection = socket.connection.as_deref_mut().expect("a switch keeps it");
        unsafe { c::kk_switched(connection, name.as_ptr()) };
        let predicted = self.columns().iter().zip(choice.predicted_us);
        Some(Switch {
            from,
            to,
            rtt_us: choice.measured.rtt_us,
            rate: choice.measured.rate,
            burst: choice.measured.burst,
            isolated_ppb: estimator.isolated_ppb,
            burst_ppb: estimator.burst_ppb,
            predicted_us: predicted.map(|(algorithm, us)| (algorithm.name(), us)).collect(),
        })
    }

    fn choose(&self, connection: &mut c::connection, fields: &c::tcp_sock) -> Option<Choice> {
        match &*self.tables {
            Tables::None => None,
            Tables::Latency(table, _) => {
                let (measured, corners) = measure(connection, fields, table);
                let mut decision = c::decision { measured, ..Default::default() };
                unsafe { c::kk_decide(connection, &*table.0, &corners, &mut decision) };
                Some(Choice {
                    column: decision.to as usize,
                    measured: decision.measured,
                    predicted_us: decision.prediction.latency_us.of.to_vec(),
                })
            }
            Tables::Rtcp(table, _) => {
                let current = connection.current.as_ptr();
                let measured = RtcpMeasured {
                    rtt_us: fields.srtt_us >> 3,
                    isolated_ppb: connection.estimator.isolated_ppb,
                    burst_ppb: connection.estimator.burst_ppb,
                    algorithm: unsafe { c::kk_rtcp_column_of(&**table, current) },
                };
                let (column, predicted_us) = rtcp_choice(table, &measured);
                let measured = Measured { rtt_us: measured.rtt_us, ..Default::default() };
                Some(Choice { column, measured, predicted_us })
            }
        }
    }

    /// The retransmission timer has gone off, after `earlier` times in a row: to be called before
    /// the timeout is doubled.
    pub fn timed_out(&self, socket: &mut Socket, earlier: u32) {
        let Some(connection) = socket.connection.as_deref_mut() else { return };
        if self.timeouts == Timeouts::Kernel {
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

/// What is measured of a connection, and where that is in the table.
fn measure(
    connection: &c::connection,
    fields: &c::tcp_sock,
    table: &LatencyTable,
) -> (Measured, c::corners) {
    let (mut measured, mut corners) = (Measured::default(), c::corners::default());
    // SAFETY: plain data that the C code only uses during the call.
    unsafe { c::kk_measure(connection, fields, &*table.0, &mut measured, &mut corners) };
    (measured, corners)
}

/// Column of the algorithm chosen, and by what.
struct Choice {
    column: usize,
    measured: Measured,
    predicted_us: Vec<u32>,
}

/// What the thesis chooses by.
pub type RtcpMeasured = c::rtcp_measured;

/// The choice of the thesis: the column, and the latency predicted for each of them, microseconds.
/// `table` are the bytes of a `struct rtcp_table`.
///
/// # Panics
/// Where `table` has not the size of one.
pub fn rtcp_choose(table: &[u8], measured: &RtcpMeasured) -> (usize, Vec<u32>) {
    rtcp_choice(&boxed(table), measured)
}

fn rtcp_choice(table: &c::rtcp_table, measured: &RtcpMeasured) -> (usize, Vec<u32>) {
    let mut predicted = c::rtcp_columns::default();
    let column = unsafe { c::kk_rtcp_choose(table, measured, &mut predicted) };
    (column as usize, predicted.of.to_vec())
}

/// What each of a table's names in use stands for.
fn columns(
    names: &[[c_char; c::TCP_CA_NAME_MAX as usize]],
    in_use: u32,
    candidates: &[Algorithm],
) -> Result<Vec<Algorithm>, NoCandidate> {
    assert!(in_use > 0, "a table has a column");
    let column = |name: &[c_char; c::TCP_CA_NAME_MAX as usize]| {
        let candidate = |algorithm: &&Algorithm| Name::new(algorithm.name()).0 == *name;
        let unknown = || {
            let bytes: Vec<u8> = name.iter().map(|byte| byte.cast_unsigned()).collect();
            let text = String::from_utf8_lossy(&bytes);
            NoCandidate(text.trim_end_matches('\0').to_owned())
        };
        candidates.iter().find(candidate).copied().ok_or_else(unknown)
    };
    names[..in_use as usize].iter().map(column).collect()
}

/// What is remembered of a connection that was met and is not left alone.
fn measured(connection: Option<&mut c::connection>) -> Option<&mut c::connection> {
    connection.filter(|c| c.flags & c::connection_flags_CONNECTION_LEFT_ALONE == 0)
}

/// A name as the C keeps it, which compares eight bytes at a time.
#[repr(C, align(8))]
#[derive(Clone, Copy, PartialEq, Eq)]
struct Name([c_char; c::TCP_CA_NAME_MAX as usize]);

impl Name {
    fn new(name: &str) -> Name {
        let mut padded = [0; _];
        for (place, byte) in padded.iter_mut().zip(name.bytes()) {
            *place = byte.cast_signed();
        }
        Name(padded)
    }

    fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::c;
    use kirikae_table::{KernelTable, rtcp};
    use std::mem::offset_of;

    macro_rules! same_layout {
        ($c:ty, $rust:ty: $($field:ident)*) => {
            assert_eq!(size_of::<$c>(), size_of::<$rust>());
            $(assert_eq!(offset_of!($c, $field), offset_of!($rust, $field));)*
        };
    }

    /// The table crate lays the tables out in Rust; this crate knows the C.
    #[test]
    fn tables_have_the_same_layout_in_both_languages() {
        same_layout!(c::latency_table, KernelTable:
            algorithms conditions name also rtt rate burst doubt elsewhere of);
        same_layout!(c::rtcp_table, rtcp::Table:
            algorithms rtts losses bandwidths name also rtt_us loss_ppb isolated_us burst_ppb
            bandwidth_us);
    }
}
