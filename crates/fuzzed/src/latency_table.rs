//! Whatever a latency table may hold: it is read and has a form for the kernel, or is refused.

use kirikae_table::LatencyTable;

pub(crate) fn play(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(table) = LatencyTable::parse(text) {
        assert_eq!(table.kernel_table().names(), table.algorithms);
    }
}
