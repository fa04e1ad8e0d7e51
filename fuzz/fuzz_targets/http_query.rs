//! See `crates/fuzzed/src/http_query.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("http_query", bytes));
