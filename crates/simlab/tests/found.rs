//! What `kirikae-lab search` found: where the switcher takes longer than stock cubic, as long as it did when
//! that was last measured. `scenarios/found/` has a scenario for each cause that was understood, and in
//! `drawn.csv` the numbers of all paths that were found as drawn.

use std::path::{Path, PathBuf};

use kirikae_results::summary::{ScenarioSummary, Summary};
use kirikae_scenario::{Contender, Controls, Scenario};
use kirikae_simlab::search;
use kirikae_simlab::sim::{self, Files, Options};
use kirikae_testing::{Figure, moved};
use rayon::prelude::*;

/// How many times as long as stock cubic the switcher takes, by file, as measured.
const FIGURES: [Figure; 14] = [
    ("burst-after-burst", 1.011),
    ("burst-over-queue", 0.877),
    ("codel", 0.961),
    ("cross-traffic", 1.167),
    ("fast-and-far", 1.199),
    ("limit-in-flight", 1.324),
    ("nearly-bulk", 1.009),
    ("rate-falls", 1.017),
    ("route-changes", 0.938),
    ("runs-of-loss", 0.394),
    ("thin-return", 0.993),
    ("trains", 1.047),
    ("two-sizes", 1.026),
    ("window-without-bound", 0.223),
];
/// The same of the paths of `drawn.csv`, over what it was when they were found.
const DRAWN: [Figure; 2] = [("mean", 1.0), ("worst", 1.0)];
/// How far they may be from that, as a share.
const ROOM: f64 = 0.05;

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
        assert_eq!(flow.unfinished, 0, "{contender} in {}", summary.title);
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
fn each_find_is_as_it_was() {
    let entries = directory().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|file| file.extension().is_some_and(|it| it == "toml")).collect();
    files.sort();
    let names: Vec<&str> =
        files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, FIGURES.map(|(name, _)| name), "each has a figure");

    let now = ratios(&Scenario::load_all(&files).unwrap());
    let moved = moved(&FIGURES, &now, ROOM);
    assert!(moved.is_empty(), "by more than {ROOM}:\n{}", moved.join("\n"));
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
        new_connections: None,
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
    let of_then =
        |&(path, then): &(u64, f64)| search::first(&options, path).unwrap().ratio.value / then;
    let of_then: Vec<f64> = found.par_iter().map(of_then).collect();
    let mean = (of_then.iter().map(|it| it.ln()).sum::<f64>() / of_then.len() as f64).exp();
    let worst = of_then.iter().copied().fold(0.0, f64::max);
    let moved = moved(&DRAWN, &[mean, worst], ROOM);
    assert!(moved.is_empty(), "by more than {ROOM}:\n{}\n{of_then:.3?}", moved.join("\n"));
}
