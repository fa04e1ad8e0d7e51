//! R-TCP in a mobile wireless environment (Oguchi, doctoral thesis, 2016, section 5.2), rebuilt:
//! studies/thesis-wimax/README.md.

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;

use super::wireless::{self, CUBIC, Course, Metric, R_TCP, THEN, average, deviation, total};
use super::{Bound, Criterion, Findings, Material, Study};

pub(super) const STUDY: Study = Study {
    name: "thesis-wimax",
    about: "R-TCP with a mobile at a WiMAX base station",
    source: "Oguchi, doctoral thesis, 2016 (in Japanese), section 5.2",
    scenarios: &["latency.toml"],
    published: &["latency.csv"],
    compare,
};

/// How far cubic's mean and standard deviation may be from the printed ones, to which the path is set.
const CALIBRATED_WITHIN: f64 = 0.05;
/// How much less R-TCP's mean latency is to be than cubic's.
const BELOW_PERCENT: f64 = 10.0;

const ROWS: [Metric; 3] = [
    ("mean_latency_s", "mean", average),
    ("total_latency_s", "total of a run", total),
    ("stddev_latency_s", "standard deviation", deviation),
];

fn compare(material: &Material) -> Result<Findings, Error> {
    let [latency] = &material.published[..] else { unreachable!("the study names one file") };
    let comparisons = wireless::play(&material.scenarios)?;
    let mut findings = STUDY.findings(material);
    if let Some(then) = comparisons.iter().find(|it| it.scenario.stack.name == THEN) {
        let printed = |metric| wireless::printed(latency, metric, CUBIC);
        let printed = [printed("mean_latency_s")?, printed("stddev_latency_s")?];
        findings.criteria.extend(asked(printed, then, material.short));
        findings.tables.push(wireless::published("Latency (table 5-5)", latency, &ROWS, then)?);
        findings
            .figures
            .push(wireless::latencies("Latency of each burst (Figs 5-17 and 5-18)", then));
        findings.figures.extend(wireless::algorithms("Algorithm in use (Fig. 5-19)", then));
        findings.figures.push(wireless::losses("What the channel lost (Fig. 5-20)", then)?);
        findings.figures.push(wireless::windows("Congestion window (Fig. 5-21)", then)?);
    }
    let paths: Vec<(&str, &Comparison)> = comparisons.iter().map(|it| ("WiMAX", it)).collect();
    findings.criteria.extend(wireless::today(&paths, material.short));
    findings.tables.extend([wireless::then_and_now(&paths), wireless::everyone(&paths)]);
    Ok(findings)
}

/// What is asked of what was published. A few walks around a base station do not tell how far cubic's
/// latencies are apart.
fn asked(printed: [Option<f64>; 2], then: &Comparison, short: bool) -> Vec<Criterion> {
    let runs = |name| Course::of(then, name).map(|course| course.latencies());
    let (Some(cubic), Some(r_tcp)) = (runs(CUBIC), runs(R_TCP)) else { return Vec::new() };
    let off = |what: &str, printed: Option<f64>, of: fn(&[f64]) -> f64| {
        let off = (cubic.each(of)?.value / printed? - 1.0).abs();
        let what = format!("cubic's {what}: relative difference");
        let bound = Bound::AtMost(CALIBRATED_WITHIN);
        Some(Criterion::new(what, off, cubic.n(), bound).unless(short).calibrated())
    };
    let below = r_tcp.below(&cubic, average).map(|below| {
        let what = "R-TCP as published: mean latency below cubic's, %";
        Criterion::new(what, below.value, r_tcp.n(), Bound::AtLeast(BELOW_PERCENT)).unless(short)
    });
    let told = r_tcp.below(&cubic, deviation).map(|below| {
        let what = "R-TCP as published: standard deviation below cubic's, %";
        Criterion::told(what, below.value, r_tcp.n())
    });
    let [mean, spread] = printed;
    let off = [off("mean latency", mean, average), off("standard deviation", spread, deviation)];
    off.into_iter().chain([below, told]).flatten().collect()
}
