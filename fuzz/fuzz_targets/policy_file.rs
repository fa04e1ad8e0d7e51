//! See `crates/fuzzed/src/policy_file.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("policy_file", bytes));
