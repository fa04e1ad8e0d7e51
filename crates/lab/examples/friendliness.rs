//! Measures how each algorithm shares a bottleneck, and prints `tables/friendliness.csv`:
//!
//! ```sh
//! cargo run --release -p kirikae-lab --example friendliness scenarios/friendliness/*.toml \
//!     > tables/friendliness.csv
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;

use kirikae_algorithms::Algorithm;
use kirikae_lab::Controls;
use kirikae_lab::outcome::Comparison;
use kirikae_lab::play::{Play, PlayedFlow};
use kirikae_lab::scenario::{Contender, FlowGroup, Scenario};
use kirikae_lab::sim::{self, Files, Options};
use kirikae_lab::statistics::{Estimate, fairness, ratio_of_means};
use kirikae_path::{ElementSpec, QueueLimit};
use kirikae_table::friendliness::{self, Figure, Measure};

/// What was measured on a path: of each repetition a value, and what it is to be divided by.
struct Sample {
    path: String,
    pairs: Vec<(f64, f64)>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(Into::into).collect();
    let mut scenarios = Scenario::load_all(&files)?;
    for scenario in &mut scenarios {
        scenario.contenders = Contender::all().into_iter().filter(is_measured).collect();
    }
    // Nobody switches; the usual table would need the figures that are made here.
    let table = kirikae_table::shipped().kernel_table().into();
    let controls = Controls { algorithms: Algorithm::all().collect(), table };
    let options = Options { output: None, files: Files::default(), controls };
    let mut samples: BTreeMap<(String, Measure), Vec<Sample>> = BTreeMap::new();
    for comparison in sim::run(&scenarios, &options)?.comparisons {
        let measure = measure(&comparison.scenario.flows);
        let path = path(&comparison.scenario);
        for plays in comparison.plays.chunk_by(|a, b| a.contender == b.contender) {
            let pairs = plays.iter().map(|play| pair(measure, play, &comparison)).collect();
            let algorithm = plays[0].contender.name().to_owned();
            let sample = Sample { path: path.clone(), pairs };
            samples.entry((algorithm, measure)).or_default().push(sample);
        }
    }
    let figures: Vec<Figure> =
        samples.into_iter().map(|((name, measure), of)| figure(name, measure, &of)).collect();
    print!("{}", friendliness::to_text(&figures));
    Ok(())
}

/// Every algorithm of ours, and the two that they are measured beside.
fn is_measured(contender: &Contender) -> bool {
    matches!(contender, Contender::Fixed(_) | Contender::Stock("cubic" | "reno"))
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
