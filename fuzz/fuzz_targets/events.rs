//! See `crates/fuzzed/src/events.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("events", bytes));
