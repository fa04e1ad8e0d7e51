//! Reads the scenarios of `scenarios/programs/`.

use std::path::Path;

use kirikae_scenario::Scenario;

#[test]
fn they_are_read() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/programs");
    let files = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.collect();
    assert_eq!(Scenario::load_all(&files).unwrap().len(), 4);
}
