//! R-TCP in a mobile wireless environment (Oguchi, doctoral thesis, 2016, section 5.2), rebuilt:
//! studies/thesis-wimax/README.md.

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;

use super::wireless::{
    self, BELOW_CUBIC, BELOW_DEVIATION, BELOW_MEAN, CUBIC, CUBIC_MEAN, LATENCY_ROWS, OVER_BBR,
    OVER_BOUND, THEN, average, deviation,
};
use super::{Computed, Key, Material, Names, Study};

pub(super) const STUDY: Study = Study {
    name: "thesis-wimax",
    names: Names {
        published: &["latency.csv"],
        criteria: &[
            CUBIC_MEAN,
            CUBIC_DEVIATION,
            BELOW_MEAN,
            BELOW_DEVIATION,
            OVER_BOUND,
            BELOW_CUBIC,
            OVER_BBR,
        ],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

const CUBIC_DEVIATION: Key = Key::new("cubic-deviation");

fn compute(material: &Material) -> Result<Computed, Error> {
    let latency = material.printed("latency.csv");
    let comparisons = wireless::play(&material.scenarios)?;
    let (mut found, mut tables, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(then) = comparisons.iter().find(|it| it.scenario.stack.name == THEN) {
        let printed = |metric| wireless::printed(latency, metric, CUBIC);
        let of_then = [
            wireless::off(CUBIC_MEAN, then, average, printed("mean_latency_s")?),
            wireless::off(CUBIC_DEVIATION, then, deviation, printed("stddev_latency_s")?),
            wireless::below(BELOW_MEAN, then, average),
            wireless::below(BELOW_DEVIATION, then, deviation),
        ];
        found.extend(of_then.into_iter().flatten());
        tables.push(wireless::published("Latency (table 5-5)", latency, &LATENCY_ROWS, then)?);
        figures.push(wireless::latencies("Latency of each burst (Figs 5-17 and 5-18)", then));
        figures.extend(wireless::algorithms("Algorithm in use (Fig. 5-19)", then));
        figures.push(wireless::losses("What the channel lost (Fig. 5-20)", then)?);
        figures.push(wireless::windows("Congestion window (Fig. 5-21)", then)?);
    }
    let paths: Vec<(&str, &Comparison)> = comparisons.iter().map(|it| ("WiMAX", it)).collect();
    found.extend(wireless::today(&paths, &material.definition));
    tables.extend([wireless::then_and_now(&paths), wireless::everyone(&paths)]);
    Ok(Computed { found, tables, figures })
}
