//! The table as the kernel reads it: `struct latency_table` of `bpf/switcher/latency_table.h`.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::grid::Condition;
use crate::latency_table::LatencyTable;

/// Most round-trip times in a table.
pub const RTTS: usize = 8;
/// Most rates.
pub const RATES: usize = 8;
/// Most burst sizes.
pub const BURSTS: usize = 8;
/// Most conditions.
pub const CONDITIONS: usize = 32;
/// Most algorithms (columns).
pub const ALGORITHMS: usize = 8;
/// Bytes of an algorithm's in-kernel name, padded with zeros (`TCP_CA_NAME_MAX`).
pub const NAME_BYTES: usize = 16;

/// Steps to a doubling, in all that is kept as a logarithm.
const OCTAVE: f64 = 256.0;
/// Probabilities are kept as multiples of 2^-30.
const PROBABILITY_ONE: f64 = (1 << 30) as f64;
/// Regrets are multiples of 2^-16.
const REGRET_ONE: f64 = (1 << 16) as f64;
/// What no channel loses may be lost all the same.
const PROBABILITY_LEAST: f64 = 1e-6;

/// `struct expectation`, logarithms.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[allow(missing_docs)]
pub struct KernelExpectation {
    pub latency: u16,
    pub isolated: u16,
    pub bursts: u16,
}

/// `struct latency_table`; the fields are described there.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[allow(missing_docs)]
pub struct KernelTable {
    pub algorithms: u32,
    pub conditions: u32,
    pub name: [[u8; NAME_BYTES]; ALGORITHMS],
    pub also: [[u8; NAME_BYTES]; ALGORITHMS],
    pub rtt: [u16; RTTS],
    pub rate: [u16; RATES],
    pub burst: [u16; BURSTS],
    pub doubt: [u16; CONDITIONS],
    pub elsewhere: [[u32; ALGORITHMS]; BURSTS],
    pub of: [[[[[KernelExpectation; ALGORITHMS]; CONDITIONS]; BURSTS]; RATES]; RTTS],
}

impl KernelTable {
    /// A table in the kernel's form.
    ///
    /// # Panics
    /// Where the table is larger than the kernel's; [`LatencyTable`] reads no such table.
    pub fn new(table: &LatencyTable) -> Box<KernelTable> {
        let grid = &table.grid;
        let mut kernel = KernelTable::new_box_zeroed().expect("a megabyte of memory");
        kernel.algorithms = table.algorithms.len() as u32;
        kernel.conditions = grid.conditions.len() as u32;
        for (column, name) in table.algorithms.iter().enumerate() {
            kernel.name[column] = padded(name);
            kernel.also[column] = padded(name.strip_prefix("kk_").unwrap_or_default());
        }
        fill(&mut kernel.rtt, grid.rtts_us.iter().map(|&us| logarithm(us.into())));
        // Bytes per millisecond.
        fill(&mut kernel.rate, grid.rates.iter().map(|&rate| logarithm(rate as f64 / 8000.0)));
        fill(&mut kernel.burst, grid.bursts.iter().map(|&bytes| logarithm(bytes.into())));
        for (doubt, condition) in kernel.doubt.iter_mut().zip(&grid.conditions) {
            *doubt = logarithm(condition.doubt());
        }
        for (place, row) in table.rows().enumerate() {
            let Condition { loss, burst_loss, .. } = grid.place(place).condition;
            let (cell, condition) = (place / grid.conditions.len(), place % grid.conditions.len());
            let (cell, burst) = (cell / grid.bursts.len(), cell % grid.bursts.len());
            let (rtt, rate) = (cell / grid.rates.len(), cell % grid.rates.len());
            for (column, expectation) in row.iter().enumerate() {
                kernel.of[rtt][rate][burst][condition][column] = KernelExpectation {
                    latency: logarithm(expectation.latency_s * 1e6),
                    isolated: probability(expectation.isolated, loss),
                    bursts: probability(expectation.bursts, burst_loss),
                };
            }
        }
        kernel.fill_elsewhere(table);
        kernel
    }

    /// For each burst size what an algorithm takes over what the best takes, in the mean over all
    /// round-trip times, rates and conditions: of the logarithms, and a condition that is less likely
    /// counts as much less.
    fn fill_elsewhere(&mut self, table: &LatencyTable) {
        let grid = &table.grid;
        let mut sums = [[0.0; ALGORITHMS]; BURSTS];
        let mut weights = [0.0; BURSTS];
        for (place, row) in table.rows().enumerate() {
            let burst = place / grid.conditions.len() % grid.bursts.len();
            let weight = grid.place(place).condition.doubt().recip();
            let best = row.iter().map(|cell| cell.latency_s).fold(f64::INFINITY, f64::min);
            for (sum, cell) in sums[burst].iter_mut().zip(row) {
                *sum += weight * (cell.latency_s / best).log2();
            }
            weights[burst] += weight;
        }
        for burst in 0..BURSTS {
            let known = burst.min(grid.bursts.len() - 1);
            for (column, sum) in sums[known].iter().enumerate() {
                self.elsewhere[burst][column] = ((sum / weights[known]).exp2() * REGRET_ONE) as u32;
            }
        }
    }

    /// The table's bytes, as the kernel's map takes them.
    pub fn as_bytes(&self) -> &[u8] {
        IntoBytes::as_bytes(self)
    }

    /// In-kernel names of the candidates, in the order of the columns.
    pub fn names(&self) -> Vec<String> {
        self.name[..self.algorithms as usize].iter().map(name_from_bytes).collect()
    }

    /// The column that describes an algorithm, ours or the kernel's own of which it is a copy.
    pub fn column_of(&self, algorithm: &str) -> Option<usize> {
        let wanted = padded(algorithm);
        let columns = self.name.iter().zip(&self.also).take(self.algorithms as usize);
        columns.into_iter().position(|(name, also)| *name == wanted || *also == wanted)
    }
}

/// What the channel loses is lost, even if not in the run of a measurement.
fn probability(measured: f64, channel: f64) -> u16 {
    logarithm(measured.max(channel).max(PROBABILITY_LEAST) * PROBABILITY_ONE)
}

/// In steps of 1/256 octave; 0 for what is at most 1.
fn logarithm(value: f64) -> u16 {
    (value.max(1.0).log2() * OCTAVE).round() as u16
}

/// The last value is repeated up to the end.
fn fill(axis: &mut [u16], values: impl Iterator<Item = u16>) {
    let mut last = 0;
    let mut values = values.fuse();
    for place in axis {
        last = values.next().unwrap_or(last);
        *place = last;
    }
}

fn name_from_bytes(bytes: &[u8; NAME_BYTES]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(NAME_BYTES);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// # Panics
/// Where the name is longer than the kernel's.
pub(crate) fn padded(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}
