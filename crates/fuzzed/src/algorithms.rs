//! Every algorithm, whatever a connection meets: see `kirikae_algorithms::drive`. The C traps on undefined
//! behaviour by itself. The corpus is small on purpose: the fewest files found that take every branch the
//! fuzzer has seen, and what once broke something.

use kirikae_algorithms::drive;

pub(crate) fn play(bytes: &[u8]) {
    if let Err(broken) = drive::play(bytes) {
        let (beginning, operations) = drive::decode(bytes);
        let shown = &operations[..operations.len().min(broken.at + 1)];
        panic!("{broken}\n{beginning:?}\n{shown:#?}");
    }
}
