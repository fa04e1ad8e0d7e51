//! Quiet ACKs of the two BBRs beside ACKs for which everything is looked at, whatever a connection
//! meets: see `kirikae_algorithms::Algorithm::checked`.
//!
//! The corpus is small on purpose, as that of `algorithms`; `cargo test -p kirikae-algorithms --test
//! quiet` replays it.
#![no_main]

use kirikae_algorithms::drive::{decode_quiet, play_quiet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = play_quiet(bytes) {
        let (beginning, operations) = decode_quiet(bytes);
        let shown = &operations[..operations.len().min(broken.at + 1)];
        panic!("{broken}\n{beginning:?}\n{shown:#?}");
    }
});
