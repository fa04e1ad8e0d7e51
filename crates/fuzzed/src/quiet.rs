//! Quiet ACKs of the two BBRs beside ACKs for which everything is looked at, whatever a connection
//! meets: see `kirikae_algorithms::Algorithm::checked`. The corpus is small on purpose, as that of
//! `algorithms`.

use kirikae_algorithms::drive::{decode_quiet, play_quiet};

pub(crate) fn play(bytes: &[u8]) {
    if let Err(broken) = play_quiet(bytes) {
        let (beginning, operations) = decode_quiet(bytes);
        let shown = &operations[..operations.len().min(broken.at + 1)];
        panic!("{broken}\n{beginning:?}\n{shown:#?}");
    }
}
