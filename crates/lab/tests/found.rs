//! What `kirikae search` found: where the switcher takes longer than stock cubic, and no longer than it
//! did when it was found. `scenarios/found/` has a scenario for each cause that was understood, and in
//! `drawn.csv` the numbers of all paths that were found as drawn.

use std::path::{Path, PathBuf};

use kirikae_lab::Controls;
use kirikae_lab::scenario::{Contender, Scenario};
use kirikae_lab::search;
use kirikae_lab::sim::{self, Files, Options};
use kirikae_lab::summary::{ScenarioSummary, Summary};

/// How many times as long as stock cubic the switcher may take, by file. Whoever mends one lowers its
/// bound.
const BOUNDS: [(&str, f64); 13] = [
    ("burst-after-burst", 1.05),
    ("burst-over-queue", 1.85),
    ("codel", 1.30),
    ("cross-traffic", 1.70),
    ("fast-and-far", 1.25),
    ("nearly-bulk", 1.05),
    ("rate-falls", 1.25),
    ("route-changes", 1.60),
    ("runs-of-loss", 1.60),
    ("thin-return", 1.15),
    ("trains", 3.15),
    ("two-sizes", 1.10),
    ("window-without-bound", 0.40),
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/found")
}

/// Mean latency of the switcher over that of stock cubic.
fn ratio(summary: &ScenarioSummary) -> f64 {
    let own = summary.contenders.iter().find(|it| it.contender == Contender::Kirikae);
    if let Some(own) = own {
        return own.over_cubic.unwrap().value;
    }
    let mean = |contender| {
        let flow = summary.flows.iter().find(|flow| flow.contender == contender).unwrap();
        assert_eq!(flow.unfinished, 0);
        flow.mean_s.unwrap().value
    };
    mean(Contender::Kirikae) / mean(Contender::BASELINE)
}

fn ratios(scenarios: &[Scenario]) -> Vec<f64> {
    let options = Options { output: None, files: Files::default(), controls: Controls::default() };
    let summary = Summary::of(&sim::run(scenarios, &options).unwrap());
    summary.scenarios.iter().map(ratio).collect()
}

#[test]
fn no_find_has_become_worse() {
    let entries = directory().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|file| file.extension().is_some_and(|it| it == "toml")).collect();
    files.sort();
    let names: Vec<&str> =
        files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, BOUNDS.map(|(name, _)| name), "each has a bound");

    let ratios = ratios(&Scenario::load_all(&files).unwrap());
    let worse: Vec<(&str, f64, f64)> = BOUNDS
        .iter()
        .zip(ratios)
        .filter(|((_, bound), ratio)| ratio > bound)
        .map(|((name, bound), ratio)| (*name, *bound, ratio))
        .collect();
    assert!(worse.is_empty(), "file, bound, ratio: {worse:?}");
}

/// The paths that a search with seed 1 found as they were drawn, each played once. One that is played once
/// is moved by chance, where anything of the switcher is changed; the mean of all is not.
#[test]
fn what_was_drawn_is_lost_by_no_more() {
    let than = vec![Contender::BASELINE];
    let (output, controls) = (None, Controls::default());
    let options = search::Options {
        seed: 1,
        count: 0,
        climbs: 0,
        generations: 0,
        than,
        loss: 1.1,
        output,
        controls,
    };
    let found = std::fs::read_to_string(directory().join("drawn.csv")).unwrap();
    let found: Vec<(u64, f64)> = found
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| line.split_once(',').unwrap())
        .map(|(path, ratio)| (path.parse().unwrap(), ratio.parse().unwrap()))
        .collect();
    let drawn = |path: u64| {
        let text = search::only(&options, path).unwrap();
        Scenario::parse(format!("{path}.toml").as_ref(), text).unwrap().remove(0)
    };
    let scenarios: Vec<Scenario> = found.iter().map(|(path, _)| drawn(*path)).collect();
    let now = ratios(&scenarios);
    let of_then: Vec<f64> = now.iter().zip(&found).map(|(now, (_, then))| now / then).collect();
    let mean = (of_then.iter().map(|it| it.ln()).sum::<f64>() / of_then.len() as f64).exp();
    assert!(mean < 1.01, "in the mean {mean:.3} times what it was: {of_then:.3?}");
}
