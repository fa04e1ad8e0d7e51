//! Quiet ACKs of the two BBRs leave what ACKs do for which everything is looked at:
//! `Algorithm::checked` panics where they do not. Every path of tests/bottleneck is checked, too.

mod bottleneck;

use bottleneck::{MSS, Path, RTT_US, SECOND};
use kirikae_algorithms::drive::{RECORD, decode_quiet, play_quiet};
use proptest::prelude::*;

/// The share of ACKs after which samples were only noted.
fn noted(paths: &[Path]) -> f64 {
    let compared = paths.iter().map(|path| path.socket.compared().expect("each is checked"));
    let (acks, noted) = compared.fold((0, 0), |(a, n), one| (a + one.acks, n + one.noted));
    assert!(acks > 10_000, "{acks} ACKs");
    noted as f64 / acks as f64
}

/// With Startup, the cycle of ProbeBW and ProbeRTT. Without quiet ACKs there was nothing to compare.
#[test]
fn most_acks_are_quiet_and_leave_the_same() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut path = Path::new(algorithm, 1000);
        path.run_for(25 * SECOND);
        let noted = noted(&[path]);
        assert!(noted > 0.5, "{algorithm}: {noted}");
    }
}

/// Recoveries from losses few and many, queues that overflow, a policer, idle time.
#[test]
fn whatever_a_path_does_quiet_acks_leave_the_same() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let paths =
            [(1000, 300), (1000, 30), (1000, 4), (20, 0), (5, 1000)].map(|(buffer, lose_every)| {
                let mut path = Path::new(algorithm, buffer);
                path.run_for(2 * SECOND);
                path.lose_every = lose_every;
                path.run_for(8 * SECOND);
                path.lose_every = 0;
                path.run_for(2 * SECOND);
                path.idle(SECOND);
                path.run_for(8 * SECOND);
                path.idle(12 * SECOND);
                path.run_for(4 * SECOND);
                path
            });
        // Version 3 looks at everything once losses have bounded it.
        assert!(noted(&paths) > 0.1, "{algorithm}: {}", noted(&paths));
    }
}

/// The one thing that quiet ACKs are late with: it counts from the next round trip on.
#[test]
fn another_segment_size_counts_from_the_next_round_trip_on() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        for mss in [MSS / 2, 2 * MSS] {
            let mut path = Path::unchecked(algorithm, 1000);
            path.run_for(3 * SECOND);
            path.socket.fields.mss_cache = mss;
            // A round trip may have begun just before, and there is a queue of 1/4.
            path.run_for(RTT_US * 5 / 4);
            for seen in path.run_for(2 * SECOND) {
                let gain = seen.pacing / 0.99 * f64::from(MSS) / f64::from(mss);
                // From 0.75 to 1.25 in the drafts; with the former size it would be half or double.
                assert!((0.7..1.35).contains(&gain), "{algorithm}: {seen:?}");
            }
        }
    }
}

proptest! {
    // Failures are kept in fuzz/corpus/quiet instead.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn whatever_a_connection_meets_quiet_acks_leave_the_same(
        records in prop::collection::vec(any::<[u8; RECORD]>(), 1..200)
    ) {
        for which in 0..2 {
            let mut bytes = records.concat();
            bytes[0] = which;
            if let Err(broken) = play_quiet(&bytes) {
                prop_assert!(false, "{broken}\n{:#?}", decode_quiet(&bytes));
            }
        }
    }
}
