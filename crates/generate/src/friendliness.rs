//! `tables/friendliness.csv`, how each algorithm shares a bottleneck; and what docs/friendliness.md shows
//! of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use kirikae_path::{ElementSpec, QueueLimit};
use kirikae_results::outcome::Comparison;
use kirikae_results::play::{Play, PlayedFlow};
use kirikae_results::statistics::{Estimate, fairness, ratio_of_means};
use kirikae_scenario::{Contender, Controls, FlowGroup, Scenario};
use kirikae_simlab::sim::{self, Files, Options};
use kirikae_table::Friendliness;
use kirikae_table::friendliness::{self, Figure, Measure};

use crate::places::{Remade, seeded};
use crate::{markdown, root};

/// What is played.
pub const SCENARIOS: &[&str] = &[
    "scenarios/friendliness/among-200ms.toml",
    "scenarios/friendliness/among-20ms.toml",
    "scenarios/friendliness/among-80ms.toml",
    "scenarios/friendliness/beside-200ms.toml",
    "scenarios/friendliness/beside-20ms.toml",
    "scenarios/friendliness/beside-80ms.toml",
    "scenarios/friendliness/heavy-loss.toml",
];
/// Figures of which the worst path is played again.
const PLACES: usize = 5;
/// And only slow ones, since there are fewer packets.
const SLOW: &str = "; 10 Mbit/s;";

/// With this connections begin whose path is known; nobody chooses it.
const BEGINS_ONLY: &str = "kk_resume";

/// What was measured on a path: of each repetition a value, and what it is to be divided by.
struct Sample {
    path: String,
    pairs: Vec<(f64, f64)>,
}

/// Measures every algorithm of ours, and the two that they are measured beside.
pub fn make() -> anyhow::Result<Vec<Option<String>>> {
    let mut scenarios = scenarios()?;
    for scenario in &mut scenarios {
        scenario.contenders = Contender::all().into_iter().filter(is_measured).collect();
    }
    Ok(vec![Some(friendliness::to_text(&measure_all(&scenarios)?))])
}

/// The worst path of seeded figures, as it is written and as it comes out now.
pub fn places(seed: u64, _: &str) -> anyhow::Result<Vec<Remade>> {
    let figures = friendliness::measured();
    let slow: Vec<&Figure> = figures.iter().filter(|it| it.worst_path.contains(SLOW)).collect();
    let scenarios = scenarios()?;
    let again = |figure: &Figure| {
        let is_path = |scenario: &&Scenario| {
            path(scenario) == figure.worst_path && measure(&scenario.flows) == figure.measure
        };
        let mut scenario = scenarios.iter().find(is_path).context("a path of a scenario")?.clone();
        let named = |it: &Contender| [&*figure.algorithm, "cubic", "reno"].contains(&it.name());
        scenario.contenders = Contender::all().into_iter().filter(named).collect();
        let now = measure_all(&[scenario])?;
        let now = now.iter().find(|it| it.algorithm == figure.algorithm).context("its figure")?;
        let told = |it: &Figure| format!("{} ± {}", it.worst, it.worst_half_width);
        let of = format!("{} {:?}, {}", figure.algorithm, figure.measure, figure.worst_path);
        Ok(Remade { of, written: told(figure), now: told(now) })
    };
    seeded(slow, PLACES, seed).into_iter().map(again).collect()
}

fn scenarios() -> anyhow::Result<Vec<Scenario>> {
    let files: Vec<PathBuf> = SCENARIOS.iter().map(|file| root().join(file)).collect();
    Ok(Scenario::load_all(&files)?)
}

/// What may be chosen, and what it is measured beside.
fn is_measured(contender: &Contender) -> bool {
    let may_be = matches!(contender, Contender::Fixed(_) | Contender::Stock("cubic" | "reno"));
    may_be && contender.name() != BEGINS_ONLY
}

/// Every contender of the scenarios, which share what is measured.
fn measure_all(scenarios: &[Scenario]) -> anyhow::Result<Vec<Figure>> {
    // Nobody switches, so the table does not matter.
    let options = Options { output: None, files: Files::default(), controls: Controls::default() };
    let mut samples: BTreeMap<(String, Measure), Vec<Sample>> = BTreeMap::new();
    for comparison in sim::run(scenarios, &options)?.comparisons {
        let measure = measure(&comparison.scenario.flows);
        let path = path(&comparison.scenario);
        for plays in comparison.plays.chunk_by(|a, b| a.contender == b.contender) {
            let pairs = plays.iter().map(|play| pair(measure, play, &comparison)).collect();
            let algorithm = plays[0].contender.name().to_owned();
            let sample = Sample { path: path.clone(), pairs };
            samples.entry((algorithm, measure)).or_default().push(sample);
        }
    }
    Ok(samples.into_iter().map(|((name, measure), of)| figure(name, measure, &of)).collect())
}

/// The scenarios differ in who shares.
fn measure(flows: &[FlowGroup]) -> Measure {
    let other = flows.get(1).and_then(|group| group.contender).map(|other| other.name());
    match (other, flows[0].count) {
        (Some("cubic"), 1) => Measure::Cubic1,
        (Some("cubic"), 4) => Measure::Cubic4,
        (Some("reno"), 1) => Measure::Reno1,
        (Some("reno"), 4) => Measure::Reno4,
        (None, 1) => Measure::HeavyLoss,
        (None, 2) => Measure::Alike2,
        (None, 4) => Measure::Alike4,
        (None, 8) => Measure::Alike8,
        found => panic!("no measure: {found:?}"),
    }
}

fn path(scenario: &Scenario) -> String {
    let elements = &scenario.links[0].path.forward;
    let rate = elements.iter().find_map(|element| match element {
        ElementSpec::Rate { bits_per_second, limit: QueueLimit::Packets(packets) } => {
            Some(format!("{} Mbit/s; queue {packets}", bits_per_second / 1_000_000))
        }
        _ => None,
    });
    let rtt_ms = scenario.flows[0].base_rtt(&scenario.links).as_secs_f64() * 1e3;
    format!("RTT {rtt_ms} ms; {}", rate.expect("a rate, and a queue in packets"))
}

fn pair(measure: Measure, play: &Play, comparison: &Comparison) -> (f64, f64) {
    let stock = |name: &str| {
        let same = |it: &&Play| it.contender.name() == name && it.seed == play.seed;
        comparison.plays.iter().find(same).unwrap_or_else(|| panic!("{name} is no contender"))
    };
    // What the others got, and what the same flows, which began at the same times, get beside their own
    // kind: who begins first has more for a long time.
    let kept = |other: &str| {
        let group = &comparison.scenario.flows[1].name;
        let got = |play: &Play| total(play.flows.iter().filter(|flow| flow.flow == *group));
        (got(play), got(stock(other)))
    };
    match measure {
        Measure::Cubic1 | Measure::Cubic4 => kept("cubic"),
        Measure::Reno1 | Measure::Reno4 => kept("reno"),
        Measure::HeavyLoss => (total(&play.flows), total(&stock("reno").flows)),
        Measure::Alike2 | Measure::Alike4 | Measure::Alike8 => {
            let goodputs: Vec<f64> = play.flows.iter().filter_map(|flow| flow.goodput).collect();
            (fairness(&goodputs).expect("something arrived"), 1.0)
        }
    }
}

fn total<'a>(flows: impl IntoIterator<Item = &'a PlayedFlow>) -> f64 {
    flows.into_iter().filter_map(|flow| flow.goodput).sum()
}

fn figure(algorithm: String, measure: Measure, samples: &[Sample]) -> Figure {
    let ratio = |sample: &Sample| ratio_of_means(&sample.pairs).expect("there are repetitions");
    let harm = |sample: &Sample| match measure {
        Measure::HeavyLoss => ratio(sample).value,
        _ => -ratio(sample).value,
    };
    let worst = samples.iter().max_by(|a, b| harm(a).total_cmp(&harm(b))).expect("a path");
    let (mean, mean_half_width) = written(over_all(samples));
    let (worst_value, worst_half_width) = written(ratio(worst));
    Figure {
        algorithm,
        measure,
        mean,
        mean_half_width,
        worst: worst_value,
        worst_half_width,
        worst_path: worst.path.clone(),
    }
}

/// The mean of the paths' ratios. The paths are what they are: only repetitions are chance.
fn over_all(samples: &[Sample]) -> Estimate {
    let mut sums = vec![(0.0, 0.0); samples[0].pairs.len()];
    for Sample { pairs, .. } in samples {
        // So that every path weighs the same.
        let scale = pairs.iter().map(|pair| pair.1).sum::<f64>();
        for (sum, pair) in sums.iter_mut().zip(pairs) {
            *sum = (sum.0 + pair.0 / scale, sum.1 + pair.1 / scale);
        }
    }
    ratio_of_means(&sums).expect("there are repetitions")
}

/// Both to three decimals.
fn written(estimate: Estimate) -> (f64, f64) {
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    let half_width = estimate.half_width.expect("several repetitions");
    (rounded(estimate.value), rounded(half_width))
}

/// The lists and tables of docs/friendliness.md.
pub fn pages() -> anyhow::Result<Vec<Option<String>>> {
    const KEPT: [(&str, Measure); 4] = [
        ("cubic, 1", Measure::Cubic1),
        ("cubic, 4", Measure::Cubic4),
        ("reno, 1", Measure::Reno1),
        ("reno, 4", Measure::Reno4),
    ];
    const ALIKE: [(&str, Measure); 4] = [
        ("2", Measure::Alike2),
        ("4", Measure::Alike4),
        ("8", Measure::Alike8),
        ("heavy loss", Measure::HeavyLoss),
    ];
    let ours = algorithms().into_iter().filter(|name| name.starts_with("kk_"));
    let ours: Vec<&str> = ours.collect();
    let names = |is_allowed: &dyn Fn(&str) -> bool| {
        ours.iter().copied().filter(|name| is_allowed(name)).collect::<Vec<_>>().join(", ")
    };
    let allowed = Friendliness::ALL.map(|friendliness| {
        let bursts = names(&|name| friendliness.allows(name));
        let bulk = names(&|name| friendliness.allows_in_bulk(name));
        vec![format!("`{friendliness}`"), bursts, bulk]
    });
    let heading =
        ["policy", "for bursts", "for bulk, by tables without a column for what was there"];
    let allowed = markdown::table(&heading, allowed);
    Ok(vec![Some(allowed), Some(figures("beside", &KEPT)), Some(figures("algorithm", &ALIKE))])
}

/// Measures side by side, each in the mean and on the worst path.
fn figures(first: &str, measures: &[(&str, Measure)]) -> String {
    let heads = measures.iter().flat_map(|(name, measure)| match measure {
        Measure::HeavyLoss => [*name, "highest"],
        _ => [*name, "worst"],
    });
    let heading: Vec<&str> = std::iter::once(first).chain(heads).collect();
    let of = |algorithm: &str, measure| {
        let mut all = friendliness::measured().iter();
        all.find(|it| it.algorithm == algorithm && it.measure == measure).expect("each is measured")
    };
    let told = |value: f64, half: f64| format!("{value:.2} ± {half:.2}");
    let rows = algorithms().into_iter().map(|algorithm| {
        let cells = measures.iter().flat_map(|(_, measure)| {
            let it = of(algorithm, *measure);
            [told(it.mean, it.mean_half_width), told(it.worst, it.worst_half_width)]
        });
        std::iter::once(algorithm.to_owned()).chain(cells).collect()
    });
    markdown::table(&heading, rows)
}

/// Those that were measured, each once.
fn algorithms() -> Vec<&'static str> {
    let mut names: Vec<&str> =
        friendliness::measured().iter().map(|figure| figure.algorithm.as_str()).collect();
    names.dedup();
    names
}

/// All of the first block: it costs nothing.
pub fn page_places(_: u64, text: &str) -> anyhow::Result<Vec<Remade>> {
    let [Some(now), ..] = &pages()?[..] else { unreachable!("three blocks") };
    ensure!(text.lines().count() == now.lines().count(), "a row for each policy");
    let rows = text.lines().zip(now.lines());
    Ok(rows
        .map(|(row, now)| Remade { of: "a policy".into(), written: row.into(), now: now.into() })
        .collect())
}
