//! The latency tables by which R-TCP chooses (Oguchi, doctoral thesis, 2016, Figs 4-9 to 4-17), rebuilt:
//! studies/rtcp-tables/README.md.

use kirikae_algorithms::Algorithm;
use kirikae_path::{ElementSpec, PathSpec, bottleneck};
use kirikae_table::{Kind, Printed, printed};

use super::Study;
use super::findings::{Bound, Cell, Criterion, Findings, Row, Table};
use crate::controls::Controls;
use crate::error::Error;
use crate::outcome::{Comparison, Performance};
use crate::scenario::Scenario;
use crate::sim::{self, Files};
use crate::statistics::{Estimate, mean, quantile, rank_correlation};
use crate::summary::ScenarioSummary;

pub(super) const STUDY: Study = Study {
    name: "rtcp-tables",
    about: "the latency tables of the R-TCP thesis (Oguchi, 2016)",
    files: &["isolated.toml", "burst.toml"],
    compare,
};

/// How far a latency may be from the printed one.
const LATENCY_WITHIN: f64 = 0.15;
/// How far above the best the printed latency of the algorithm may be that is first with us.
const FIRST_WITHIN: f64 = 0.10;
/// In this share of the cells of RTT and loss rate.
const FIRST_SHARE: f64 = 40.0 / 45.0;
/// Where a burst takes longer than this, the time from one to the next, the load does not fit the path.
const INTERVAL_S: f64 = 2.0;
/// What our algorithms' names begin with, and Linux's do not.
const PREFIX: &str = "kk_";

/// Which cell of which table a scenario is about.
struct Place {
    rtt_ms: u32,
    point: f64,
    isolated: bool,
}

/// Ours of one algorithm: the value and how many bursts it is from.
type Ours = (String, Estimate, usize);

fn compare(scenarios: &[Scenario]) -> Result<Findings, Error> {
    // Idle keep, pacing included, is not of that time.
    let algorithms = Algorithm::all().map(|it| it.with("idle_keep", 0).unwrap_or(it)).collect();
    let controls = Controls { algorithms, ..Controls::default() };
    let options = sim::Options { output: None, files: Files::default(), controls };
    let outcome = sim::run(scenarios, &options)?;
    let mut tables = Vec::new();
    for kind in [Kind::IsolatedLatency, Kind::BurstRate, Kind::BurstLatency] {
        for published in printed(kind).map_err(|error| Error::Failed(error.to_string()))? {
            let rows = outcome.comparisons.iter().filter_map(|comparison| {
                let place = place(comparison.scenario.timed()?.0)?;
                let isolated = kind == Kind::IsolatedLatency;
                let here = place.isolated == isolated && place.rtt_ms == published.rtt_ms;
                here.then(|| row(kind, &published, place.point, &ours(kind, comparison)))
            });
            let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
            if !rows.is_empty() {
                tables.push((kind, table(kind, published.rtt_ms, rows)));
            }
        }
    }
    let criteria = criteria(&tables);
    let tables = tables.into_iter().map(|(_, table)| table).collect();
    Ok(Findings { study: STUDY.name, tables, criteria })
}

fn place(path: &PathSpec) -> Option<Place> {
    let rtt_ms = (path.base_rtt().as_nanos() / 1_000_000) as u32;
    let loss = path.forward.iter().find_map(|element| match element {
        ElementSpec::Loss { probability } => Some(*probability),
        _ => None,
    });
    let point = match loss {
        Some(loss) => loss,
        None => bottleneck(&path.forward)? as f64 / 1000.0,
    };
    Some(Place { rtt_ms, point, isolated: loss.is_some() })
}

/// What came of each contender, under its name in Linux.
fn ours(kind: Kind, comparison: &Comparison) -> Vec<Ours> {
    let name = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    if kind == Kind::BurstRate {
        let each = comparison.performances.chunk_by(|a, b| a.contender == b.contender);
        let rate = |runs: &[Performance]| {
            let rates: Vec<f64> = runs.iter().map(overflow_percent).collect();
            let n = runs.iter().map(|run| run.bursts.len()).sum();
            Some((name(runs.first()?.contender.name()), mean(&rates)?, n))
        };
        return each.filter_map(rate).collect();
    }
    let latency =
        |it: crate::summary::ContenderSummary| Some((name(it.contender.name()), it.mean_s?, it.n));
    ScenarioSummary::of(comparison).contenders.into_iter().filter_map(latency).collect()
}

/// Packets that found the queue full, in percent of those sent.
fn overflow_percent(performance: &Performance) -> f64 {
    let forward = &performance.report.forward;
    let dropped: u64 = forward.dropped.values().sum();
    100.0 * dropped as f64 / forward.offered.max(1) as f64
}

fn row(kind: Kind, published: &Printed, at: f64, ours: &[Ours]) -> Result<Row, Error> {
    let cell = |(algorithm, ours, n): &Ours| {
        let nothing = || {
            let rtt_ms = published.rtt_ms;
            Error::Incompatible(format!(
                "{}: nothing was published of {algorithm} at {at}, RTT {rtt_ms} ms",
                STUDY.name
            ))
        };
        let published = published.value(at, algorithm).ok_or_else(nothing)?;
        let difference = ours.value / published - 1.0;
        let asked = kind == Kind::IsolatedLatency && published < INTERVAL_S;
        let agrees = asked.then_some(difference.abs() <= LATENCY_WITHIN);
        Ok(Cell { algorithm: algorithm.clone(), published, ours: *ours, n: *n, difference, agrees })
    };
    let cells: Vec<Cell> = ours.iter().map(cell).collect::<Result<_, Error>>()?;
    let first = cells.iter().min_by(|a, b| a.ours.value.total_cmp(&b.ours.value));
    let first = first.ok_or_else(|| Error::Failed("no burst arrived".into()))?;
    let lowest = cells.iter().map(|cell| cell.published).fold(f64::INFINITY, f64::min);
    let pairs: Vec<(f64, f64)> = cells.iter().map(|it| (it.ours.value, it.published)).collect();
    Ok(Row {
        at,
        first: first.algorithm.clone(),
        first_over_lowest: first.published / lowest,
        rank_correlation: rank_correlation(&pairs),
        cells,
    })
}

fn table(kind: Kind, rtt_ms: u32, rows: Vec<Row>) -> Table {
    let (what, by) = match kind {
        Kind::IsolatedLatency => ("Isolated loss: latency in seconds", "loss rate"),
        Kind::BurstRate => ("Burst loss: loss rate in percent", "kbit/s"),
        Kind::BurstLatency => ("Burst loss: latency in seconds", "kbit/s"),
    };
    Table { title: format!("{what}, RTT {rtt_ms} ms"), by, rows }
}

fn criteria(tables: &[(Kind, Table)]) -> Vec<Criterion> {
    let rows = |kind: Kind| {
        tables.iter().filter(move |(of, _)| *of == kind).flat_map(|(_, table)| &table.rows)
    };
    let cells = rows(Kind::IsolatedLatency).flat_map(|row| &row.cells);
    let asked = cells.filter(|cell| cell.agrees.is_some());
    let mut differences: Vec<f64> = asked.map(|cell| cell.difference.abs()).collect();
    differences.sort_by(f64::total_cmp);
    let agreeing = differences.iter().filter(|difference| **difference <= LATENCY_WITHIN).count();
    let isolated: Vec<&Row> = rows(Kind::IsolatedLatency).collect();
    let good = isolated.iter().filter(|row| row.first_over_lowest <= 1.0 + FIRST_WITHIN).count();
    let mut criteria = Vec::new();
    if let Some(median) = quantile(&differences, 0.5) {
        criteria.extend([
            Criterion::new(
                "Isolated loss, median relative difference of latency where the load fits the path",
                median,
                differences.len(),
                Bound::AtMost(LATENCY_WITHIN),
            ),
            Criterion::told(
                "Isolated loss, cells that differ by at most 15 %",
                agreeing as f64,
                differences.len(),
            ),
            Criterion::new(
                "Isolated loss, RTTs and loss rates whose first is within 10 % of the printed best",
                good as f64,
                isolated.len(),
                Bound::AtLeast((FIRST_SHARE * isolated.len() as f64).ceil()),
            ),
        ]);
    }
    for (kind, what) in [
        (Kind::IsolatedLatency, "Isolated loss, latency: mean rank correlation of a row"),
        (Kind::BurstRate, "Burst loss, loss rate: mean rank correlation of a row"),
        (Kind::BurstLatency, "Burst loss, latency: mean rank correlation of a row"),
    ] {
        let ranks: Vec<f64> = rows(kind).filter_map(|row| row.rank_correlation).collect();
        let average = mean(&ranks);
        criteria.extend(average.map(|mean| Criterion::told(what, mean.value, ranks.len())));
    }
    criteria
}
