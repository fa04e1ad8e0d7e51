//! Gives access to single parts of the switcher.

use kirikae_interface::{NO_SCOPE, latency_table, match_key, policy, thesis_table};

use crate::{Socket, c};

/// The scope of a connection under a policy (`bpf/switcher/core/policy_match.h`). None: no rule matches it.
pub fn scope_of(policy: &policy, key: &match_key) -> Option<u32> {
    // SAFETY: plain data that the C code only reads during the call.
    let scope = unsafe { c::kk_scope_of(policy, key) };
    (scope != NO_SCOPE).then_some(scope)
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

/// What a round trip showed of a connection.
pub type RoundTripSeen = c::round_trip_seen;

/// A connection's bursts cut into spans, and held against what those before took (`bpf/switcher/core/comparison.h`).
#[derive(Clone, Debug, Default)]
pub struct BurstSpans(c::comparison);

/// How far from the usual a span was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The stratum, from 0: how far the connection's spans usually are from the usual latency.
    pub stratum: usize,
    /// The mean over its bursts, octaves of latency.
    pub octaves: f64,
}

impl BurstSpans {
    /// A burst took so long, microseconds. Whether the span is over with it.
    pub fn burst(&mut self, latency_us: u32) -> bool {
        // SAFETY: plain data that the C code only uses during the call.
        unsafe { c::kk_span_burst(&mut self.0, latency_us) }
    }

    /// The span is over, and the next one begins. None of the first, which only tells what is usual.
    pub fn end(&mut self) -> Option<Span> {
        // SAFETY: as above.
        let end = unsafe { c::kk_span_end(&mut self.0) };
        let octaves = f64::from(end.octaves) / f64::from(kirikae_interface::SPAN_OCTAVE);
        end.is_counted.then_some(Span { stratum: end.stratum as usize, octaves })
    }

    /// The span begins anew: what there was of it counts for nothing.
    pub fn begin(&mut self) {
        // SAFETY: as above.
        unsafe { c::kk_span_begin(&mut self.0) }
    }
}

/// What is written with no idle time in between.
#[derive(Clone, Debug, Default)]
pub struct Stream(c::stream);

impl Stream {
    /// A round trip is over.
    pub fn update(&mut self, seen: &RoundTripSeen) {
        // SAFETY: both structs are plain data that the C code only uses during the call.
        unsafe { c::kk_stream_update(&mut self.0, seen) }
    }

    /// Another algorithm is in use from now on.
    pub fn switched(&mut self) {
        // SAFETY: as above.
        unsafe { c::kk_stream_switched(&mut self.0) }
    }

    /// Whether it is one, or is probed for being one.
    pub fn is_known(&self) -> bool {
        // SAFETY: as above.
        unsafe { c::kk_is_stream(&self.0) }
    }

    /// Bytes a second that the program asks for; 0 until that is known.
    pub fn demand(&self) -> u32 {
        self.0.demand
    }

    /// Bytes that it is behind with.
    pub fn owed(&self) -> u32 {
        self.0.owed
    }

    /// What its writes take with the algorithm in use, microseconds; 0 until that is known.
    pub fn latency_us(&self) -> u32 {
        // SAFETY: as above.
        unsafe { c::kk_stream_latency_us(&self.0) }
    }
}

/// The measuring period in use (microseconds); `fixed_us` 0: one smoothed round trip.
pub fn period_us(fixed_us: u32, srtt_us: u32) -> u32 {
    // SAFETY: takes and gives numbers.
    unsafe { c::kk_estimator_period_us(fixed_us, srtt_us) }
}

/// Whether a timeout of a second at most, and one more, come before a kernel gives the connection up that gives up
/// after `retries` of them (tcp_retries2).
pub fn is_given_up_late(socket: &Socket, retries: u32) -> bool {
    // SAFETY: plain data that the C code only reads during the call.
    unsafe { c::kk_is_given_up_late(&socket.fields, retries) }
}

/// When a kernel gives a connection up after the first retransmission, by its number of retries (tcp_retries2) and its
/// longest timeout; milliseconds.
pub fn given_up_after_ms(retries: u32, longest_ms: u32) -> u32 {
    // SAFETY: takes and gives numbers.
    unsafe { c::kk_given_up_after_ms(retries, longest_ms) }
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
        let mut period = Period::default();
        // SAFETY: plain data that the C code only uses during the call.
        unsafe {
            c::kk_estimator_update(
                &mut self.0,
                &mut runs.0,
                now_us,
                period_us,
                segs_out,
                &mut period,
            )
        }
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

/// What a measuring period brought.
pub type Period = c::period;

/// What is measured of a connection.
pub type Measured = c::measured;

/// How likely each of a table's conditions is.
#[derive(Clone, Debug, Default)]
pub struct Belief(c::belief);

/// What a choice is made by, algorithm by algorithm in the table's order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// Expected latency of a burst, seconds.
    pub latency_s: f64,
    /// Expected latency over that of the best algorithm.
    pub regret: f64,
}

impl From<c::belief> for Belief {
    fn from(belief: c::belief) -> Belief {
        Belief(belief)
    }
}

impl Belief {
    /// A period went by with `algorithm`, a column of the table, in use.
    pub fn update(
        &mut self,
        table: &latency_table,
        measured: &Measured,
        algorithm: usize,
        period: &Period,
    ) {
        // SAFETY: plain data that the C code only uses during the call.
        unsafe {
            c::kk_belief_update(&mut self.0, table, measured, algorithm as u32, period);
        }
    }

    /// A belief with these weights of the conditions; others are impossible.
    ///
    /// # Panics
    /// Panics if there are more weights than a table has conditions.
    pub fn from_weights(weights: &[f64]) -> Belief {
        const IMPOSSIBLE: i32 = -(1 << 12);
        let mut belief = c::belief { weight_log: [IMPOSSIBLE; c::TABLE_CONDITIONS as usize] };
        for (log, weight) in belief.weight_log[..weights.len()].iter_mut().zip(weights) {
            *log = ((weight.log2() * 256.0) as i32).max(IMPOSSIBLE);
        }
        Belief(belief)
    }

    /// The weight of each condition of a table that has so many; they sum to 1.
    pub fn weights(&self, conditions: usize) -> Vec<f64> {
        let weights =
            self.0.weight_log[..conditions].iter().map(|&log| (f64::from(log) / 256.0).exp2());
        let sum: f64 = weights.clone().sum();
        weights.map(|weight| weight / sum).collect()
    }

    /// What is to be expected of each algorithm.
    pub fn predict(&self, table: &latency_table, measured: &Measured) -> Vec<Predicted> {
        let mut prediction = c::prediction::default();
        // SAFETY: as above.
        unsafe { c::kk_predict(table, measured, &self.0, &mut prediction) };
        let columns = prediction.latency_us.by_column.into_iter().zip(prediction.regret.by_column);
        columns
            .take(table.algorithms as usize)
            .map(|(us, regret)| Predicted {
                latency_s: f64::from(us) / 1e6,
                regret: f64::from(regret) / 65536.0,
            })
            .collect()
    }
}

/// What the thesis chooses by.
pub type ThesisMeasured = c::thesis_measured;

/// The choice of the thesis: the column, and the latency predicted for each of them, microseconds.
pub fn thesis_choose(table: &thesis_table, measured: &ThesisMeasured) -> (usize, Vec<u32>) {
    let mut predicted = c::thesis_columns::default();
    // SAFETY: plain data that the C code only uses during the call.
    let column = unsafe { c::kk_thesis_choose(table, measured, &mut predicted) };
    (column as usize, predicted.by_column.to_vec())
}

/// 256 log2(`value`), as the switcher has it; of 0 as of 1.
pub fn log2_fixed(value: u32) -> u32 {
    // SAFETY: takes and gives numbers.
    unsafe { c::kk_log2_fixed(value) }
}

/// 2^(`log` / 256), as the switcher has it.
pub fn exp2_fixed(log: u32) -> u64 {
    // SAFETY: takes and gives numbers.
    unsafe { c::kk_exp2_fixed(log) }
}

/// Over which interfaces of a network namespace the agent was told that a connection waits.
#[derive(Clone, Debug, Default)]
pub struct Told(c::told);

impl Told {
    /// Whether the agent is told of an interface now, which is noted.
    pub fn is_to_be_told(&mut self, interface: u32, now_ns: u64) -> bool {
        // SAFETY: plain data that the C code only uses during the call.
        unsafe { c::kk_is_to_be_told(&mut self.0, interface, now_ns) }
    }
}
