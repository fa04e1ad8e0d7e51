//! See `crates/fuzzed/src/switcher.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("switcher", bytes));
