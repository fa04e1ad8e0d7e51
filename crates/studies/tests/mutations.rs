//! Criteria fail where what they ask for is taken away.

use std::path::Path;

use kirikae_studies::{Findings, Material, Run, Study};

/// A study in which something is done otherwise.
fn played(study: &str, mutate: impl Fn(&mut Material)) -> Findings {
    let study = Study::named(study).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let run = Run { short: true, ..Run::default() };
    let mut material = study.material(&from, run).unwrap();
    mutate(&mut material);
    study.compare(&material).unwrap()
}

/// The criteria of a key that are missed.
fn missed(findings: &Findings, key: &str) -> usize {
    let own = findings.criteria.iter().filter(|criterion| criterion.key == key);
    own.filter(|criterion| criterion.met == Some(false)).count()
}

#[test]
fn without_idle_keep_kirikae_is_above_the_bound() {
    let kept = played("thesis-wifi", |_| ());
    assert_eq!(missed(&kept, "over-bound"), 0);
    let cut = played("thesis-wifi", |material| {
        material.scenarios.iter_mut().for_each(|scenario| scenario.scope.idle_keep = false);
    });
    // Above the bound something else is asked in its place.
    assert_eq!(missed(&cut, "below-cubic"), 1);
}
