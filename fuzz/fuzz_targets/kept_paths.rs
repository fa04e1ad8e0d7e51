//! See `crates/fuzzed/src/kept_paths.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("kept_paths", bytes));
