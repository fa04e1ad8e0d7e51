//! A few places of thesis-regions.

use std::path::Path;

use kirikae_studies::{Findings, Form, Run, Study};

/// A short run of the scenarios whose titles contain one of these.
fn some(titles: &[&str]) -> Findings {
    let study = Study::named("thesis-regions").unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut material = study.material(&from, Run { short: true, ..Run::default() }).unwrap();
    material.scenarios.retain(|it| titles.iter().any(|title| it.title.contains(title)));
    assert!(!material.scenarios.is_empty(), "{titles:?}");
    study.compare(&material).unwrap()
}

#[track_caller]
fn found(findings: &Findings, what: &str) -> f64 {
    let found = findings.criteria.iter().find(|it| it.what.starts_with(what));
    found.unwrap_or_else(|| panic!("{what} in {:?}", findings.criteria)).value
}

#[test]
fn the_end_of_a_burst_leaves_a_small_window_whatever_was_lost() {
    let findings = some(&["Linux 2.6.33, bursts, ", "Linux 2.6.33, continuous, "]);
    assert!(found(&findings, "Fig. 3-1, bursts") < 1.0);
    assert!(found(&findings, "Fig. 3-2, bursts") < 0.1);
    assert!(found(&findings, "Fig. 3-1, 4 MiB") > 40.0);
    assert!(found(&findings, "Fig. 3-2, 4 MiB") > 0.9);
}

#[test]
fn hybla_is_best_far_away_and_scalable_nearby() {
    let findings = some(&[
        "Linux 2.6.33, isolated loss, one way 10 ms, 64 KiB",
        "Linux 2.6.33, isolated loss, one way 200 ms, 64 KiB",
    ]);
    let map = findings.figures.iter().find(|it| it.title.starts_with("Who is best by")).unwrap();
    let fields = map.panels[0].series.iter().filter(|it| it.form == Form::Fields);
    let of = |name: &str| {
        let own = fields.clone().find(|it| it.name == name);
        own.map(|it| it.points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>())
    };
    assert_eq!(of("scalable"), Some(vec![(0.0, 0.0)]));
    assert_eq!(of("hybla"), Some(vec![(0.0, 1.0)]));
}
