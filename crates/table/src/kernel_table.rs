//! The table as the kernel reads it: `struct latency_table` of `bpf/switcher/latency_table.h`.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Most round-trip times in a table.
pub const RTTS: usize = 8;
/// Most loss rates, and most bandwidths, in a table.
pub const POINTS: usize = 16;
/// Most algorithms (columns) in a table.
pub const ALGORITHMS: usize = 16;
/// Bytes of an algorithm's in-kernel name, padded with zeros (`TCP_CA_NAME_MAX`).
pub const NAME_BYTES: usize = 16;

/// Where values were measured, ascending.
pub type Points = [u32; POINTS];
/// One value for each algorithm.
pub type Columns = [u32; ALGORITHMS];

/// `struct latency_table`; the fields are described there.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[allow(missing_docs)]
pub struct KernelTable {
    pub algorithms: u32,
    pub rtts: u32,
    pub losses: u32,
    pub bandwidths: u32,
    pub name: [[u8; NAME_BYTES]; ALGORITHMS],
    pub also: [[u8; NAME_BYTES]; ALGORITHMS],
    pub rtt_us: Points,
    pub loss_ppb: Points,
    pub isolated_us: [[Columns; POINTS]; RTTS],
    pub burst_ppb: [[Points; ALGORITHMS]; RTTS],
    pub bandwidth_us: [[Columns; POINTS]; RTTS],
}

impl KernelTable {
    /// A table with nothing in it.
    pub(crate) fn empty() -> Box<KernelTable> {
        <KernelTable as FromZeros>::new_box_zeroed().expect("48 KB of memory")
    }

    /// The table's bytes, as the kernel's map takes them.
    pub fn as_bytes(&self) -> &[u8] {
        IntoBytes::as_bytes(self)
    }

    /// In-kernel names of the candidates, in the order of the columns.
    pub fn names(&self) -> Vec<String> {
        self.name[..self.algorithms as usize].iter().map(name_from_bytes).collect()
    }
}

fn name_from_bytes(bytes: &[u8; NAME_BYTES]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(NAME_BYTES);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
