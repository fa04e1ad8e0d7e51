//! What must hold for every algorithm, whatever the connection meets.

use kirikae_algorithms::Algorithm;
use kirikae_algorithms::drive::{RECORD, decode, play, play_decoded};
use proptest::prelude::*;

proptest! {
    // Failures are kept in fuzz/corpus/algorithms instead.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// For each algorithm alone, and switched to others in between.
    #[test]
    fn every_algorithm_stays_in_bounds(
        records in prop::collection::vec(any::<[u8; RECORD]>(), 1..200)
    ) {
        for which in 0..Algorithm::all().count() {
            let mut bytes = records.concat();
            bytes[0] = which as u8;
            if let Err(broken) = play(&bytes) {
                let (beginning, operations) = decode(&bytes);
                let shown = &operations[..=broken.at.min(operations.len() - 1)];
                prop_assert!(false, "{broken}\n{beginning:?}\n{shown:#?}");
            }
        }
        let (mut beginning, operations) = decode(&records.concat());
        for name in ["bbr", "cubic", "reno"] {
            beginning.algorithm = Algorithm::stock(name).unwrap();
            if let Err(broken) = play_decoded(&beginning, &operations) {
                prop_assert!(false, "{broken}\n{beginning:?}\n{operations:#?}");
            }
        }
    }
}
