//! The latency tables by which R-TCP chooses (Oguchi, doctoral thesis, 2016, Figs 4-9 to 4-17), rebuilt:
//! studies/thesis-tables/README.md.

use kirikae_path::{ElementSpec, PathSpec, bottleneck};
use kirikae_results::Error;
use kirikae_results::outcome::{Comparison, Performance};
use kirikae_results::statistics::{Estimate, mean, rank_correlation};
use kirikae_results::summary::ScenarioSummary;
use kirikae_scenario::Scenario;
use kirikae_table::{Kind, Printed, printed};

use super::{
    Axis, Cell, Column, Computed, Definition, Figure, Form, Material, Names, Panel, Row, Scale,
    Series, Study, Table, idle_keep_off, simulate,
};

mod judged;
mod sensitivity;

pub(super) const STUDY: Study = Study {
    name: "thesis-tables",
    names: Names {
        published: &[],
        criteria: &judged::KEYS,
        thresholds: &judged::THRESHOLDS,
        explanations: &["overload", "hybla", "vegas", "slower"],
    },
    compute,
};

/// What our algorithms' names begin with, and Linux's do not.
const PREFIX: &str = "kk_";
const HYBLA: &str = "hybla";

/// Which cell of which table a scenario is about.
struct Place {
    rtt_ms: u32,
    point: f64,
    isolated: bool,
}

/// What came of an algorithm, and how many bursts it is from.
struct Ours {
    algorithm: String,
    value: Estimate,
    n: usize,
}

/// A row of a printed table with what came out here.
struct Line {
    /// A loss rate or a bandwidth.
    at: f64,
    cells: Vec<(String, Cell)>,
    /// The algorithm that is lowest with us.
    first: String,
    /// The printed value of that algorithm over the lowest printed one.
    first_over_lowest: f64,
    /// Spearman's rank correlation of the algorithms; none where all are equal on one side.
    rank_correlation: Option<f64>,
}

/// A printed table with what came out here.
struct Compared {
    kind: Kind,
    rtt_ms: u32,
    /// The number of its figure in chapter 4.
    number: usize,
    lines: Vec<Line>,
}

fn compute(material: &Material) -> Result<Computed, Error> {
    let definition = &material.definition;
    let of_tables = |scenario: &&Scenario| !sensitivity::is_of(scenario);
    let scenarios: Vec<Scenario> = material.scenarios.iter().filter(of_tables).cloned().collect();
    let outcome = simulate(&scenarios, idle_keep_off())?;
    let mut all = Vec::new();
    let mut number = 9;
    for kind in [Kind::IsolatedLatency, Kind::BurstRate, Kind::BurstLatency] {
        for published in printed(kind).map_err(|error| Error::Failed(error.to_string()))? {
            let lines = outcome.comparisons.iter().filter_map(|comparison| {
                let place = place(comparison.scenario.timed()?.0)?;
                let isolated = kind == Kind::IsolatedLatency;
                let here = place.isolated == isolated && place.rtt_ms == published.rtt_ms;
                here.then(|| {
                    let ours = ours(kind, comparison);
                    line(definition, kind, &published, place.point, ours)
                })
            });
            let lines: Vec<Line> = lines.collect::<Result<_, _>>()?;
            if !lines.is_empty() {
                all.push(Compared { kind, rtt_ms: published.rtt_ms, number, lines });
            }
            number += 1;
        }
    }
    let mut tables: Vec<Table> = all.iter().map(Compared::table).collect();
    tables.extend(sensitivity::tables(material, &all)?);
    Ok(Computed {
        found: judged::found(&all, definition),
        tables,
        figures: all.iter().map(Compared::figure).collect(),
    })
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
            let algorithm = name(runs.first()?.contender.name());
            Some(Ours { algorithm, value: mean(&rates)?, n })
        };
        return each.filter_map(rate).collect();
    }
    let latency = |it: kirikae_results::summary::ContenderSummary| {
        Some(Ours { algorithm: name(it.contender.name()), value: it.mean_s?, n: it.n })
    };
    ScenarioSummary::of(comparison).contenders.into_iter().filter_map(latency).collect()
}

/// Packets that found the queue full, in percent of those sent.
fn overflow_percent(performance: &Performance) -> f64 {
    let forward = &performance.report.forward;
    let dropped: u64 = forward.dropped.values().sum();
    100.0 * dropped as f64 / forward.offered.max(1) as f64
}

fn line(
    definition: &Definition,
    kind: Kind,
    published: &Printed,
    at: f64,
    ours: Vec<Ours>,
) -> Result<Line, Error> {
    let fits_below = definition.threshold("fits-below");
    let cell = |Ours { algorithm, value, n }: Ours| {
        let nothing = || {
            let rtt_ms = published.rtt_ms;
            Error::Incompatible(format!(
                "{}: nothing was published of {algorithm} at {at}, RTT {rtt_ms} ms",
                STUDY.name
            ))
        };
        let published = published.value(at, &algorithm).ok_or_else(nothing)?;
        let cell = Cell::compared(published, value, n);
        let asked = kind == Kind::IsolatedLatency && published < fits_below;
        let cell = if asked { cell.within(definition.threshold("latency-within")) } else { cell };
        let known =
            (kind == Kind::IsolatedLatency).then(|| why(&algorithm, &cell, fits_below)).flatten();
        let why = known.map(|name| definition.explanation(name).to_owned());
        Ok((algorithm, Cell { why, ..cell }))
    };
    let cells: Vec<(String, Cell)> = ours.into_iter().map(cell).collect::<Result<_, Error>>()?;
    let pairs: Vec<(f64, f64)> = cells.iter().filter_map(|(_, cell)| both(cell)).collect();
    let place = (0..pairs.len()).min_by(|a, b| pairs[*a].0.total_cmp(&pairs[*b].0));
    let place = place.ok_or_else(|| Error::Failed("no burst arrived".into()))?;
    let lowest = pairs.iter().map(|(_, published)| *published).fold(f64::INFINITY, f64::min);
    Ok(Line {
        at,
        first: cells[place].0.clone(),
        first_over_lowest: pairs[place].1 / lowest,
        rank_correlation: rank_correlation(&pairs),
        cells,
    })
}

/// Ours and theirs.
fn both(cell: &Cell) -> Option<(f64, f64)> {
    Some((cell.ours?.value, cell.published?))
}

/// The explanation of a latency that is not as printed.
fn why(algorithm: &str, cell: &Cell, fits_below: f64) -> Option<&'static str> {
    let missed = cell.agrees == Some(false);
    let (ours, published) = both(cell)?;
    match algorithm {
        _ if published >= fits_below => Some("overload"),
        HYBLA if missed => Some("hybla"),
        "vegas" if missed => Some("vegas"),
        _ if missed && ours > published => Some("slower"),
        _ => None,
    }
}

impl Compared {
    /// What its rows go by, and what its cells are.
    fn axes(&self) -> (&'static str, &'static str, &'static str) {
        match self.kind {
            Kind::IsolatedLatency => ("Isolated loss", "loss rate", "latency, s"),
            Kind::BurstRate => ("Burst loss", "bandwidth, kbit/s", "loss rate, %"),
            Kind::BurstLatency => ("Burst loss", "bandwidth, kbit/s", "latency, s"),
        }
    }

    fn title(&self) -> String {
        let (loss, by, what) = self.axes();
        let Compared { rtt_ms, number, .. } = self;
        let what = what.split_once(',').map_or(what, |(what, _)| what);
        let by = by.split_once(',').map_or(by, |(by, _)| by);
        format!("{loss}: {what} by {by}, RTT {rtt_ms} ms (Fig. 4-{number})")
    }

    fn table(&self) -> Table {
        let (_, by, what) = self.axes();
        let algorithms = self.lines.first().map_or(&[][..], |line| &line.cells);
        let columns = algorithms.iter().map(|(name, _)| Column::new(name, 3));
        let rest = ["lowest of ours, printed value above the lowest", "rank correlation"];
        let columns = columns.chain(rest.map(|heading| Column::new(heading, 2)));
        let mut table = Table::new(format!("{}: {what}", self.title()), by, columns);
        for line in &self.lines {
            let mut cells: Vec<Cell> = line.cells.iter().map(|(_, cell)| cell.clone()).collect();
            let above = (line.first_over_lowest - 1.0) * 100.0;
            cells.push(Cell::word(format!("{}, {above:+.0} %", line.first)));
            let rank = line.rank_correlation;
            cells.push(Cell::word(rank.map_or("-".into(), |rank| format!("{rank:.2}"))));
            table.rows.push(Row::new(line.at.to_string(), cells));
        }
        table
    }

    /// A panel for each algorithm: nine pairs of curves would hide one another.
    fn figure(&self) -> Figure {
        let (_, by, what) = self.axes();
        let names = self.lines.first().map_or(&[][..], |line| &line.cells);
        let panel = |place: usize| {
            let cells = || self.lines.iter().map(move |line| (line.at, &line.cells[place].1));
            let published = cells().filter_map(|(at, cell)| Some((at, cell.published?)));
            let ours = cells().filter_map(|(at, cell)| Some((at, cell.ours?)));
            let y = if self.kind == Kind::BurstRate { Scale::FromZero } else { Scale::Log };
            Panel {
                title: names[place].0.clone(),
                x: Axis::new(by, Scale::Log),
                y: Axis::new(what, y),
                series: vec![
                    Series::published("", Form::Curve, published),
                    Series::ours("", Form::Curve, ours),
                ],
            }
        };
        let about = match self.kind {
            Kind::IsolatedLatency => {
                "A burst of 64 KB every 2 s; each packet is lost by itself. From about 2 s on the load \
                 does not fit the path."
            }
            Kind::BurstRate | Kind::BurstLatency => {
                "The thesis does not give the queue, and what it calls bandwidth cannot be the \
                 bottleneck's (studies/thesis-tables/README.md): nothing is asked of this figure."
            }
        };
        let panels = (0..names.len()).map(panel).collect();
        Figure { title: self.title(), about: about.into(), panels }
    }
}
