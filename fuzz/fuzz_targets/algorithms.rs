//! See `crates/fuzzed/src/algorithms.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("algorithms", bytes));
