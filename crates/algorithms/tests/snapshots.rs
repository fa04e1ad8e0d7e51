//! The portrait of every algorithm as numbers: a change of what an algorithm does shows in review.
//!
//! `INSTA_UPDATE=always cargo test -p kirikae-algorithms --test snapshots` writes them anew.

use std::fmt::Write;

use kirikae_algorithms::Algorithm;
use kirikae_algorithms::portrait::{SCENES, play};

#[test]
fn portraits() {
    for algorithm in Algorithm::all() {
        let mut rows = String::new();
        for scene in &SCENES {
            write!(rows, "{:13}", scene.name).unwrap();
            for round in play(algorithm, scene).unwrap() {
                write!(rows, " {}", round.cwnd).unwrap();
            }
            rows.push('\n');
        }
        insta::with_settings!({
            description => "Window after each round trip, segments; the path holds 100.",
            omit_expression => true,
            prepend_module_to_snapshot => false,
        }, { insta::assert_snapshot!(algorithm.name(), rows) });
    }
}
