//! The table in the kernel's form: `struct latency_table` of `bpf/interface/latency_table.h`.

use kirikae_interface::{axis, expectation, latency_table, name_to_bytes};
use zerocopy::FromZeros;

use crate::grid::Condition;
use crate::latency_table::{LatencyTable, OURS};

/// The largest number of round-trip times in a table.
pub const RTTS: usize = kirikae_interface::TABLE_RTTS as usize;
/// The largest number of rates in a table.
pub const RATES: usize = kirikae_interface::TABLE_RATES as usize;
/// The largest number of burst sizes and streams together in a table.
pub const LOADS: usize = kirikae_interface::TABLE_LOADS as usize;
/// The largest number of conditions in a table.
pub const CONDITIONS: usize = kirikae_interface::TABLE_CONDITIONS as usize;
/// The largest number of algorithms (columns) in a table.
pub const ALGORITHMS: usize = kirikae_interface::TABLE_ALGORITHMS as usize;

/// Steps to a doubling in every number that is kept as a logarithm.
const OCTAVE: f64 = kirikae_interface::OCTAVE as f64;
/// The number for a probability of 1.
const PROBABILITY_ONE: f64 = (1 << kirikae_interface::PROBABILITY_SHIFT) as f64;
/// The number for a stream's share of 1 of the rate.
const SHARE_ONE: f64 = kirikae_interface::SHARE_ONE as f64;
/// The number for a regret of 1.
const REGRET_ONE: f64 = (1 << 16) as f64;
/// The least probability of a loss: packets may be lost even if the channel of the measurement loses none.
const PROBABILITY_LEAST: f64 = 1e-6;

/// The table as the switcher reads it: `struct latency_table` of `bpf/interface/latency_table.h`.
pub type KernelTable = latency_table;

impl LatencyTable {
    /// Converts the table to the kernel's form.
    ///
    /// # Panics
    /// Panics if the table is larger than the kernel's; parsing refuses such a table.
    pub fn kernel_table(&self) -> Box<KernelTable> {
        let (table, grid) = (self, &self.grid);
        let mut kernel = KernelTable::new_box_zeroed().expect("a megabyte of memory");
        kernel.algorithms = table.algorithms.len() as u32;
        kernel.conditions = grid.conditions.len() as u32;
        for (column, name) in table.algorithms.iter().enumerate() {
            kernel.name[column] = name_to_bytes(name);
            let theirs = name.strip_prefix(OURS).unwrap_or_default();
            if !table.algorithms.iter().any(|column| column == theirs) {
                kernel.also[column] = name_to_bytes(theirs);
            }
            kernel.barred_in_bulk |= u32::from(table.barred_in_bulk.contains(name)) << column;
        }
        let is_stock = |name: &String| !name.starts_with(OURS);
        kernel.stock = table.algorithms.iter().position(is_stock).unwrap_or(ALGORITHMS) as u32;
        fill(&mut kernel.rtt, grid.rtts_us.iter().map(|&us| logarithm(us.into())));
        // The kernel's unit is bytes per millisecond.
        fill(&mut kernel.rate, grid.rates.iter().map(|&rate| logarithm(rate as f64 / 8000.0)));
        kernel.bursts = grid.bursts.len() as u32;
        kernel.streams = grid.streams.len() as u32;
        fill(&mut kernel.share, grid.streams.iter().map(|&share| logarithm(share * SHARE_ONE)));
        fill(&mut kernel.burst, grid.bursts.iter().map(|&bytes| logarithm(bytes.into())));
        for (doubt, condition) in kernel.doubt.iter_mut().zip(&grid.conditions) {
            *doubt = logarithm(condition.doubt());
        }
        for (place, row) in table.rows().enumerate() {
            let Condition { loss, burst_loss, .. } = grid.place(place).condition;
            let (cell, condition) = (place / grid.conditions.len(), place % grid.conditions.len());
            let (cell, load) = (cell / grid.loads(), cell % grid.loads());
            let (rtt, rate) = (cell / grid.rates.len(), cell % grid.rates.len());
            for (column, expectation) in row.iter().enumerate() {
                *kernel.expectation([rtt, rate, load, condition, column]) = expectation {
                    latency: logarithm(expectation.latency_s * 1e6),
                    isolated: probability(expectation.isolated, loss),
                    bursts: probability(expectation.bursts, burst_loss),
                };
            }
        }
        fill_elsewhere(&mut kernel, table);
        kernel
    }
}

/// Computes for each load what an algorithm takes over what the best takes, in the mean over all round-trip
/// times, rates and conditions. It is a mean of logarithms, in which a less likely condition weighs less.
fn fill_elsewhere(kernel: &mut KernelTable, table: &LatencyTable) {
    let grid = &table.grid;
    let mut sums = [[0.0; ALGORITHMS]; LOADS];
    let mut weights = [0.0; LOADS];
    for (place, row) in table.rows().enumerate() {
        let load = place / grid.conditions.len() % grid.loads();
        let weight = grid.place(place).condition.doubt().recip();
        let best = row.iter().map(|cell| cell.latency_s).fold(f64::INFINITY, f64::min);
        for (sum, cell) in sums[load].iter_mut().zip(row) {
            *sum += weight * (cell.latency_s / best).log2();
        }
        weights[load] += weight;
    }
    for load in 0..LOADS {
        let known = load.min(grid.loads() - 1);
        for (column, sum) in sums[known].iter().enumerate() {
            kernel.elsewhere[load][column] = ((sum / weights[known]).exp2() * REGRET_ONE) as u32;
        }
    }
}

/// A probability of at least the channel's: what the channel loses is lost, even if it was not in the run of
/// a measurement.
fn probability(measured: f64, channel: f64) -> u16 {
    logarithm(measured.max(channel).max(PROBABILITY_LEAST) * PROBABILITY_ONE)
}

/// A logarithm in steps of 1/256 octave; 0 for values up to 1.
fn logarithm(value: f64) -> u16 {
    (value.max(1.0).log2() * OCTAVE).round() as u16
}

/// Fills an axis; the last value is repeated up to its end.
fn fill(axis: &mut axis, values: impl Iterator<Item = u16>) {
    let mut last = 0;
    let mut values = values.fuse();
    for place in &mut axis.at {
        last = values.next().unwrap_or(last);
        *place = last;
    }
}
