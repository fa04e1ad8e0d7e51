//! Every algorithm, whatever a connection meets: see `kirikae_algorithms::drive`.
//!
//! `make fuzz` runs it; the C traps on undefined behaviour by itself. The corpus is small on
//! purpose: the fewest files found that take every branch the fuzzer has seen, and what once broke
//! something. `cargo test -p kirikae-algorithms --test properties` replays it.
#![no_main]

use kirikae_algorithms::drive::{decode, play};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = play(bytes) {
        let (beginning, operations) = decode(bytes);
        let shown = &operations[..operations.len().min(broken.at + 1)];
        panic!("{broken}\n{beginning:?}\n{shown:#?}");
    }
});
