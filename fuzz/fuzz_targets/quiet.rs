//! See `crates/fuzzed/src/quiet.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("quiet", bytes));
