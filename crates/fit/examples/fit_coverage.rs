//! How often the 95 % intervals of `kirikae-lab fit` hold the parameters that made the losses: docs/fit.md.
//! `fit_coverage [SEEDS]`.

use std::collections::BTreeMap;

use kirikae_fit::losses::{Fates, Fit, Interval, Model, fit};
use kirikae_path::{Ecn, Element, GilbertElliott, GilbertElliottSpec, Outcome, Packet, Time};
use rayon::prelude::*;

/// Channels and how many packets meet them.
const CASES: [(Model, [f64; 4], u64); 7] = [
    (Model::SimpleGilbert, [0.002, 0.25, 1.0, 0.0], 10_000),
    (Model::SimpleGilbert, [0.002, 0.25, 1.0, 0.0], 100_000),
    (Model::SimpleGilbert, [0.02, 0.5, 1.0, 0.0], 10_000),
    (Model::Gilbert, [0.005, 0.1, 1.0, 0.5], 10_000),
    (Model::Gilbert, [0.005, 0.1, 1.0, 0.5], 100_000),
    (Model::GilbertElliott, [0.001, 0.02, 0.999, 0.6], 100_000),
    (Model::Independent, [0.0, 1.0, 0.99, 1.0], 10_000),
];

fn main() {
    let seeds =
        std::env::args().nth(1).map_or(200, |text| text.parse().expect("a number of seeds"));
    for (truth, [p, r, k, h], packets) in CASES {
        let spec = GilbertElliottSpec { p, r, k, h };
        let fits: Vec<Result<Fit, String>> =
            (1..=seeds).into_par_iter().map(|seed| fit(&fates(spec, packets, seed))).collect();
        tell(truth, spec, packets, &fits);
    }
}

fn fates(spec: GilbertElliottSpec, packets: u64, seed: u64) -> Fates {
    let mut channel = GilbertElliott::new(spec, seed);
    let lost = |number| {
        let packet = Packet { number, bytes: 1500, ecn: Ecn::NotEct, payload: () };
        matches!(channel.enqueue(Time::ZERO, packet), Outcome::Dropped(_))
    };
    (0..packets).map(lost).collect()
}

fn tell(truth: Model, spec: GilbertElliottSpec, packets: u64, fits: &[Result<Fit, String>]) {
    let GilbertElliottSpec { p, r, k, h } = spec;
    let enough: Vec<&Fit> = fits.iter().flatten().collect();
    let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
    enough.iter().for_each(|fit| *chosen.entry(fit.chosen.model.name()).or_default() += 1);
    let evident = enough.iter().filter(|fit| fit.bursts.evident).count();
    println!(
        "{} p={p} r={r} k={k} h={h}, {packets} packets, {} seeds: {} with too little loss; bursts evident {evident}; \
         chosen {chosen:?}",
        truth.name(),
        fits.len(),
        fits.len() - enough.len(),
    );
    let loss = (1.0 - k) * r / (p + r) + (1.0 - h) * p / (p + r);
    let is_true = |fit: &&&Fit| fit.chosen.model == truth;
    let own: Vec<&&Fit> = enough.iter().filter(is_true).collect();
    let holds = |interval: &Interval, value: f64| interval.low <= value && value <= interval.high;
    for (name, value) in [("p", p), ("r", r), ("k", k), ("h", h), ("loss", loss)] {
        let of = |fit: &Fit| match name {
            "loss" => Some(fit.loss_rate),
            _ => fit.chosen.parameters.iter().find(|(it, _)| *it == name).map(|(_, it)| *it),
        };
        let intervals: Vec<Interval> = own.iter().filter_map(|fit| of(fit)).collect();
        if intervals.is_empty() {
            continue;
        }
        let held = intervals.iter().filter(|it| holds(it, value)).count();
        let mean = intervals.iter().map(|it| it.value).sum::<f64>() / intervals.len() as f64;
        println!(
            "  {name}: {held} of {} intervals hold {value:.6} ({:.1} %); mean estimate {mean:.6}",
            intervals.len(),
            100.0 * held as f64 / intervals.len() as f64,
        );
    }
}
