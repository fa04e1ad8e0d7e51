//! See `crates/fuzzed/src/capture.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("capture", bytes));
