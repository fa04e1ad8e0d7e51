//! See `crates/fuzzed/src/latency_table.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("latency_table", bytes));
