//! R-TCP in a fixed wireless environment (Oguchi, doctoral thesis, 2016, section 5.1), rebuilt:
//! studies/thesis-wifi/README.md.

mod channel;

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;

use super::wireless::{self, CUBIC, Course, Metric, R_TCP, THEN, average, deviation, total};
use super::{Bound, Cell, Column, Criterion, Findings, Material, Row, Study, Table, swept};
use channel::Channel;

pub(super) const STUDY: Study = Study {
    name: "thesis-wifi",
    about: "R-TCP behind a wireless LAN, and the LAN's channel",
    source: "Oguchi, doctoral thesis, 2016 (in Japanese), section 5.1",
    scenarios: &["calibration.toml", "latency.toml"],
    published: &["latency.csv", "throughput.csv", "channel.csv"],
    compare,
};

/// How far cubic's mean latency may be from the printed one, to which the retry limit is set.
const CALIBRATED_WITHIN: f64 = 0.05;
/// How much less R-TCP's mean and standard deviation are to be than cubic's.
const BELOW_PERCENT: f64 = 40.0;

const ROWS: [Metric; 3] = [
    ("mean_latency_s", "mean", average),
    ("total_latency_s", "total of a run", total),
    ("stddev_latency_s", "standard deviation", deviation),
];

fn compare(material: &Material) -> Result<Findings, Error> {
    let [latency, throughput, channel] = &material.published[..] else {
        unreachable!("the study names three files")
    };
    let comparisons = wireless::play(&material.scenarios)?;
    let (calibration, paths): (Vec<&Comparison>, Vec<&Comparison>) =
        comparisons.iter().partition(|it| it.scenario.swept.contains_key("limit"));
    let printed_s = wireless::printed(latency, "mean_latency_s", "cubic")?;
    let mut findings = STUDY.findings(material);
    let channel = Channel::read(throughput, channel)?;
    findings.figures.push(channel.figure());
    if let Some(then) = paths.iter().find(|it| it.scenario.stack.name == THEN) {
        findings.criteria.extend(printed_s.iter().flat_map(|mean_s| asked(*mean_s, then)));
        findings.tables.push(wireless::published("Latency (table 5-3)", latency, &ROWS, then)?);
        findings
            .figures
            .push(wireless::latencies("Latency of each burst (Figs 5-5 and 5-6)", then));
        findings.figures.extend(wireless::algorithms("Algorithm in use (Fig. 5-7)", then));
        findings.figures.push(wireless::losses("What the channel lost (Fig. 5-8)", then)?);
    }
    let paths: Vec<(&str, &Comparison)> =
        paths.into_iter().map(|it| ("Wireless LAN", it)).collect();
    findings.criteria.extend(wireless::today(&paths, material.short));
    findings.criteria.extend(channel.criteria());
    findings.tables.extend([wireless::then_and_now(&paths), wireless::everyone(&paths)]);
    findings.tables.push(limits(printed_s, &calibration));
    findings.tables.push(channel.table());
    Ok(findings)
}

/// What is asked of what was published.
fn asked(mean_s: f64, then: &Comparison) -> Vec<Criterion> {
    let runs = |name| Course::of(then, name).map(|course| course.latencies());
    let (Some(cubic), Some(r_tcp)) = (runs(CUBIC), runs(R_TCP)) else { return Vec::new() };
    let off = cubic.each(average).map(|it| (it.value / mean_s - 1.0).abs());
    let off = off.map(|off| {
        let what = "cubic's mean latency: relative difference";
        Criterion::new(what, off, cubic.n(), Bound::AtMost(CALIBRATED_WITHIN)).calibrated()
    });
    let below = |what: &str, of: fn(&[f64]) -> f64| {
        let what = format!("R-TCP as published: {what} below cubic's, %");
        let bound = Bound::AtLeast(BELOW_PERCENT);
        Some(Criterion::new(what, r_tcp.below(&cubic, of)?.value, r_tcp.n(), bound))
    };
    let below = [below("mean latency", average), below("standard deviation", deviation)];
    off.into_iter().chain(below.into_iter().flatten()).collect()
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
