//! Whatever a latency table may hold: it is read and has a form for the kernel, or is refused.
#![no_main]

use kirikae_table::{KernelTable, LatencyTable};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(table) = LatencyTable::parse(text) {
        let kernel = KernelTable::new(&table);
        assert_eq!(kernel.names(), table.algorithms);
    }
});
