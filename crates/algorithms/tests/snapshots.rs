//! The portrait of every algorithm as numbers: a change of what an algorithm does shows in review.
//!
//! `INSTA_UPDATE=always cargo test -p kirikae-algorithms --test snapshots` writes them anew.

use std::fmt::Write;

use kirikae_algorithms::Algorithm;
use kirikae_algorithms::portrait::{SCENES, Scene, play};

fn row(name: &str, algorithm: Algorithm, scene: &Scene) -> String {
    let mut row = format!("{name:13}");
    for round in play(algorithm, scene).unwrap() {
        write!(row, " {}", round.cwnd).unwrap();
    }
    row.push('\n');
    row
}

#[test]
fn portraits() {
    for algorithm in Algorithm::all() {
        let mut rows = String::new();
        for scene in &SCENES {
            rows += &row(scene.name, algorithm, scene);
        }
        if let Ok(with_hystart) = algorithm.with("hystart", 1) {
            rows += &row("with hystart", with_hystart, &SCENES[0]);
        }
        insta::with_settings!({
            description => "Window after each round trip, segments; the path holds 100.",
            omit_expression => true,
            prepend_module_to_snapshot => false,
        }, { insta::assert_snapshot!(algorithm.name(), rows) });
    }
}
