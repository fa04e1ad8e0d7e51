//! Reads the scenarios of `scenarios/held-out/`, each by itself and all together.

use std::path::{Path, PathBuf};

use kirikae_checks::{Need, has};
use kirikae_scenario::Scenario;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/held-out")
}

/// The scenario files in one of its folders, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = directory().join(folder).read_dir().unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

/// Reads all of a folder in one call; each has a title of its own. They say only what is written and what
/// packets meet: who is compared is said when they are played.
fn read(folder: &str) -> Vec<Scenario> {
    let files = files(folder);
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.starts_with("# ") && !text.contains("[bench]"), "{}", file.display());
    }
    let scenarios = Scenario::load_all(&files).unwrap_or_else(|refusal| panic!("{refusal}"));
    for scenario in &scenarios {
        let (_, workload) = scenario.timed().expect("one connection that writes by the clock");
        assert!((150..=300).contains(&workload.count()), "{}", scenario.title);
    }
    scenarios
}

#[test]
fn scenarios_of_paths_are_read() {
    let (steady, changing, drawn) = (read("steady"), read("changing"), read("drawn"));
    let large = read("large");
    assert!(steady.len() >= 25 && changing.len() >= 14, "{} {}", steady.len(), changing.len());
    assert_eq!((drawn.len(), large.len()), (25, 50));
    for scenario in steady.iter().chain(&changing).chain(&drawn).chain(&large) {
        assert_eq!(scenario.on_real_kernel(), Ok(()), "{}", scenario.title);
    }
}

#[test]
fn programs_are_read_with_their_neighbours() {
    let scenarios =
        Scenario::load_all(files("programs")).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(scenarios.len(), 60);
    for scenario in &scenarios {
        assert_eq!(scenario.on_real_kernel(), Ok(()), "{}", scenario.title);
    }
}

#[test]
fn recorded_links_are_read_where_they_are() {
    let recordings = directory().join("cellular/traces").read_dir().unwrap();
    if recordings.count() > 1 {
        assert!(read("cellular").len() >= 5 && read("drawn-cellular").len() == 5);
        return;
    }
    for file in files("cellular").into_iter().chain(files("drawn-cellular")) {
        let refusal = Scenario::load(&file).expect_err("recordings are missing").to_string();
        assert!(refusal.contains("file: cannot read ") && refusal.contains("traces/"), "{refusal}");
    }
    has(Need::Recordings, Err("see scenarios/held-out/cellular/traces/README.md"));
}
