//! Searches of a few paths: what is drawn, what is found, what is left of it.

use std::collections::BTreeSet;

use kirikae_results::summary::Summary;
use kirikae_scenario::{Contender, Controls, Scenario};
use kirikae_simlab::search::{self, BURSTS, Options, Report};
use kirikae_simlab::sim::{self, Files};

/// A short search with seed 1 that holds the switcher against stock cubic.
fn options(count: u64) -> Options {
    let than = vec![Contender::BASELINE];
    let controls = Controls::default();
    Options {
        seed: 1,
        count,
        climbs: 0,
        generations: 2,
        than,
        new_connections: None,
        loss: 1.10,
        output: None,
        controls,
    }
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse("drawn.toml".as_ref(), text.to_owned()).unwrap().remove(0)
}

/// What `kirikae-lab sim` says of a text: the switcher's ratio to stock cubic.
fn simulated(text: &str) -> f64 {
    let options =
        sim::Options { output: None, files: Files::default(), controls: Controls::default() };
    let outcome = sim::run(&[scenario(text)], &options).unwrap();
    let summary = Summary::of(&outcome).scenarios.remove(0);
    let of = |contender| {
        let flow = summary.flows.iter().find(|flow| flow.contender == contender).unwrap();
        assert_eq!(flow.unfinished, 0);
        flow.mean_s.unwrap().value
    };
    let Some(own) = summary.contenders.iter().find(|it| it.contender == Contender::Kirikae) else {
        return of(Contender::Kirikae) / of(Contender::BASELINE);
    };
    own.over_cubic.unwrap().value
}

/// Without what tells how long it took.
fn told(mut report: Report) -> String {
    report.wall_s = 0.0;
    serde_json::to_string(&report).unwrap()
}

#[test]
fn a_path_follows_from_seed_and_index() {
    let of = |seed, index| search::only(&Options { seed, ..options(1) }, index).unwrap();
    assert_eq!(of(1, 7), of(1, 7));
    let mut all = BTreeSet::new();
    for (seed, index) in [(1, 0), (1, 7), (2, 7)] {
        all.insert(of(seed, index));
    }
    assert_eq!(all.len(), 3);
}

#[test]
fn every_path_is_a_scenario_and_all_kinds_are_drawn() {
    let texts: Vec<String> =
        (0..1000).map(|index| search::only(&options(1), index).unwrap()).collect();
    for text in &texts {
        let scenario = scenario(text);
        let counted: u32 = scenario.flows[0].activities.iter().map(|it| it.workload.count()).sum();
        assert!(counted >= BURSTS || text.contains("requests"), "{text}");
        assert_eq!(scenario.contenders, [Contender::BASELINE, Contender::Kirikae]);
    }
    for kind in [
        "kind = \"requests\"",
        "kind = \"bulk\"",
        "spacing = \"exponential\"",
        "element = \"loss\"",
        "gilbert-elliott",
        "run-loss",
        "during",
        "outage",
        "action = \"hold\"",
        "arq",
        "steps",
        "link-change",
        "adaptive-modulation",
        "codel = {}",
        "ecn = true",
        "reorder-interval",
        "cross",
        "retries = {",
        "order = \"free\"",
    ] {
        let drawn = texts.iter().filter(|text| text.contains(kind)).count();
        assert!(drawn >= 5, "{kind}: {drawn}");
    }
}

#[test]
fn what_loses_is_found_made_simple_and_written() {
    const COUNT: u64 = 6;
    // Whoever is the best of several, known afterwards, is better than any choice somewhere.
    let than = Contender::list("kk_hybla,bbr").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let output = Some(directory.path().join("found"));
    let report = search::run(&Options { than, output, ..options(COUNT) }).unwrap();
    assert_eq!(report.paths, COUNT as usize);
    assert!(!report.finds.is_empty() && report.confidence >= 0.95);
    for find in &report.finds {
        let (found, reduced) = (&find.found.verdict, &find.reduced.verdict);
        for verdict in [found, reduced] {
            assert_eq!(verdict.repetitions, 40);
            assert!(verdict.ratio.value >= 1.10 && verdict.at_least() > 1.0);
        }
        assert!(find.reduced.text.lines().count() <= find.found.text.lines().count());
        let written = std::fs::read_to_string(find.file.as_ref().unwrap()).unwrap();
        assert!(written.starts_with("# kirikae takes ") && written.ends_with(&find.reduced.text));
    }
    let shorter =
        |find: &search::Find| find.reduced.text.lines().count() < find.found.text.lines().count();
    assert!(report.finds.iter().any(shorter), "nothing was made simpler");
}

#[test]
fn a_path_is_played_as_the_simulator_plays_it() {
    for seed in 0..12 {
        let options = Options { seed, ..options(1) };
        let (_, ratio) = search::run(&options).unwrap().quantiles[0];
        let simulated = simulated(&search::only(&options, 0).unwrap());
        assert!((ratio / simulated - 1.0).abs() < 1e-9, "seed {seed}: {ratio} {simulated}");
    }
}

#[test]
fn connections_are_as_long_as_one_asks_for() {
    let latencies = |index, bursts| {
        let controls = Controls::default();
        search::latencies(1, index, bursts, Contender::BASELINE, &controls).unwrap()
    };
    for index in 0..12 {
        let all = latencies(index, 100);
        // Of two sizes there are a fifth more.
        assert!(all.len() == 100 || all.len() == 120, "path {index}: {}", all.len());
        assert!(all.iter().all(|latency_s| *latency_s > 0.0), "path {index}: {all:?}");
        assert_eq!(all, latencies(index, 100));
    }
}

#[test]
fn threads_do_not_matter() {
    let search = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        told(pool.install(|| search::run(&Options { climbs: 1, ..options(15) })).unwrap())
    };
    let alone = search(1);
    assert_eq!(alone, search(3));
    assert!(alone.contains("\"paths\":15"));
}
