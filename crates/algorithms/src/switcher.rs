//! The switcher's measuring and choosing, `bpf/switcher/`.

use crate::c;

/// Lost segments sorted into runs.
#[derive(Clone, Debug, Default)]
pub struct LossRuns(c::loss_runs);

impl LossRuns {
    /// `segments` of `mss` bytes from sequence number `seq` on are sent again.
    pub fn retransmit(&mut self, seq: u32, segments: u32, mss: u32) {
        // SAFETY: both structs are plain data that the C code only uses during the call.
        unsafe { c::kk_loss_runs_retransmit(&mut self.0, seq, segments, mss) }
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
    assert_eq!(table.len(), size_of::<c::latency_table>(), "bytes of a latency_table");
    // SAFETY: the size is right and every bit pattern is valid for arrays of numbers.
    let table = unsafe { table.as_ptr().cast::<c::latency_table>().read_unaligned() };
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
