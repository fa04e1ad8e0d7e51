//! See `crates/fuzzed/src/netlink.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kirikae_fuzzed::play("netlink", bytes));
