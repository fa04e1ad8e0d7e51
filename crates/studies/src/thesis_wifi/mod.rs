//! R-TCP in a fixed wireless environment (Oguchi, doctoral thesis, 2016, section 5.1), rebuilt:
//! studies/thesis-wifi/README.md.

mod channel;

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;

use super::wireless::{
    self, BELOW_CUBIC, BELOW_DEVIATION, BELOW_MEAN, CUBIC, CUBIC_MEAN, Course, LATENCY_ROWS,
    OVER_BBR, OVER_BOUND, THEN, average, deviation,
};
use super::{Cell, Column, Computed, Material, Names, Row, Study, Table, swept};
use channel::Channel;

pub(super) const STUDY: Study = Study {
    name: "thesis-wifi",
    names: Names {
        published: &["latency.csv", "throughput.csv", "channel.csv"],
        criteria: &[
            CUBIC_MEAN,
            BELOW_MEAN,
            BELOW_DEVIATION,
            OVER_BOUND,
            BELOW_CUBIC,
            OVER_BBR,
            channel::FIT,
            channel::SHARE_FITTED,
            channel::SHARE_PRINTED,
            channel::TURNOVER_FITTED,
            channel::TURNOVER_AS_PRINTED,
            channel::TURNOVER_PRINTED,
        ],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

fn compute(material: &Material) -> Result<Computed, Error> {
    let latency = material.printed("latency.csv");
    let channel =
        Channel::read(material.printed("throughput.csv"), material.printed("channel.csv"))?;
    let comparisons = wireless::play(&material.scenarios)?;
    let (calibration, paths): (Vec<&Comparison>, Vec<&Comparison>) =
        comparisons.iter().partition(|it| it.scenario.swept.contains_key("limit"));
    let printed_s = wireless::printed(latency, "mean_latency_s", "cubic")?;
    let (mut found, mut tables, mut figures) = (Vec::new(), Vec::new(), vec![channel.figure()]);
    if let Some(then) = paths.iter().find(|it| it.scenario.stack.name == THEN) {
        let of_then = [
            wireless::off(CUBIC_MEAN, then, average, printed_s),
            wireless::below(BELOW_MEAN, then, average),
            wireless::below(BELOW_DEVIATION, then, deviation),
        ];
        found.extend(of_then.into_iter().flatten());
        tables.push(wireless::published("Latency (table 5-3)", latency, &LATENCY_ROWS, then)?);
        figures.push(wireless::latencies("Latency of each burst (Figs 5-5 and 5-6)", then));
        figures.extend(wireless::algorithms("Algorithm in use (Fig. 5-7)", then));
        figures.push(wireless::losses("What the channel lost (Fig. 5-8)", then)?);
    }
    let paths: Vec<(&str, &Comparison)> =
        paths.into_iter().map(|it| ("Wireless LAN", it)).collect();
    found.extend(wireless::today(&paths, &material.definition));
    found.extend(channel.found());
    tables.extend([wireless::then_and_now(&paths), wireless::everyone(&paths)]);
    tables.extend([limits(printed_s, &calibration), channel.table()]);
    Ok(Computed { found, tables, figures })
}

/// Cubic's mean by the retry limit, by which that was chosen.
fn limits(printed_s: Option<f64>, calibration: &[&Comparison]) -> Table {
    let columns = [Column::new("cubic's mean latency, s", 3)];
    let mut table = Table::new("Which retry limit: the thesis gives none", "retries", columns);
    for comparison in calibration {
        let Some(limit) = swept(&comparison.scenario, "limit") else { continue };
        let runs = Course::of(comparison, CUBIC).map(|cubic| cubic.latencies());
        let found = runs.as_ref().and_then(|runs| runs.each(average));
        let n = runs.map_or(0, |runs| runs.n());
        let cell: Cell = wireless::beside(printed_s, found, n);
        table.rows.push(Row::new(limit.to_string(), vec![cell]));
    }
    table
}
