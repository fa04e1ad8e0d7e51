//! What the studies of R-TCP over wireless access share (Oguchi, doctoral thesis, 2016, chapters 5 and 6):
//! the same bursts over the same path, on hosts of the thesis' time and on those of today.

mod figures;
mod judged;
mod sensitivity;

use kirikae_results::Error;
use kirikae_results::outcome::{Comparison, Delivery, Performance};
use kirikae_results::statistics::{Estimate, mean, ratio_of_means};
use kirikae_scenario::{Controls, Scenario};

use super::{Cell, Column, Found, Key, Published, Row, Table, idle_keep_off, simulate};
pub(super) use figures::{algorithms, in_use, latencies, losses, switched_beside_hybla, windows};
pub(super) use judged::{
    DEVIATION_GAIN, GAIN, R_TCP_MEAN, SWITCHES, SWITCHING, below_hybla, below_where_switched, gain,
    gain_of, longer_than, off, switched, switches, switching, text,
};
pub(super) use sensitivity::{
    REFERENCES_MS, Varied, figure as sensitivity, panel, references, with_reference,
};

/// The hosts' stacks.
pub(super) const THEN: &str = "linux-2.6.33";
pub(super) const NOW: &str = "linux-6";
/// Who contends, as scenarios call them.
pub(super) const CUBIC: &str = "cubic";
pub(super) const BBR: &str = "bbr";
pub(super) const R_TCP: &str = "r-tcp";
pub(super) const KIRIKAE: &str = "kirikae";
pub(super) const HYBLA: &str = "kk_hybla";

/// What is asked of kirikae on today's hosts: to be near the lower bound, and not to be above bbr.
pub(super) const OVER_BOUND: Key = Key::with("over-bound", &["path"]);
pub(super) const OVER_BBR: Key = Key::with("over-bbr", &["path"]);
/// What the path is set to where the thesis has one.
pub(super) const CUBIC_MEAN: Key = Key::new("cubic-mean");

/// Everyone in every scenario; what our algorithms have of today is off on hosts of that time.
pub(super) fn play(scenarios: &[Scenario]) -> Result<Vec<Comparison>, Error> {
    let own = |stack| -> Vec<Scenario> {
        scenarios.iter().filter(|it| it.stack.name == stack).cloned().collect()
    };
    let then = simulate(&own(THEN), controls(THEN))?;
    let now = simulate(&own(NOW), controls(NOW))?;
    Ok(then.comparisons.into_iter().chain(now.comparisons).collect())
}

/// What the contenders are made of on hosts with this stack.
pub(super) fn controls(stack: &str) -> Controls {
    if stack == THEN { idle_keep_off() } else { Controls::default() }
}

/// What came of a contender on a path.
pub(super) struct Course<'a> {
    runs: &'a [Performance],
}

impl<'a> Course<'a> {
    /// None where it did not contend.
    pub fn of(comparison: &'a Comparison, contender: &str) -> Option<Course<'a>> {
        let all = comparison.performances.chunk_by(|a, b| a.contender == b.contender);
        let own = |runs: &&[Performance]| runs[0].contender.name() == contender;
        all.into_iter().find(own).map(|runs| Course { runs })
    }

    /// One of its runs.
    pub fn run(&self, place: usize) -> Option<&'a Performance> {
        self.runs.get(place)
    }

    /// Its run with the highest mean latency.
    pub fn slowest(&self) -> usize {
        let Runs(runs) = self.latencies();
        let means: Vec<f64> = runs.iter().map(|run| average(run)).collect();
        (0..means.len()).max_by(|a, b| means[*a].total_cmp(&means[*b])).unwrap_or(0)
    }

    /// From the start of the write to the last byte, in seconds, run by run.
    pub fn latencies(&self) -> Runs {
        self.each(|delivery| delivery.latency_s)
    }

    /// From the first byte to the last, at the receiver.
    pub fn received(&self) -> Runs {
        self.each(|delivery| delivery.first_to_last_s)
    }

    fn bounds(&self) -> Runs {
        self.each(|delivery| delivery.bound_s)
    }

    fn each(&self, of: fn(&Delivery) -> f64) -> Runs {
        let run = |run: &Performance| run.counted().map(|(_, delivery)| of(&delivery)).collect();
        Runs(self.runs.iter().map(run).collect())
    }

    /// Mean latency over the mean lower bound.
    pub fn over_bound(&self) -> Option<Estimate> {
        self.latencies().over(&self.bounds(), average)
    }

    /// Bursts that should have arrived and did not.
    pub fn unfinished(&self) -> u32 {
        self.runs.iter().map(|run| run.unfinished).sum()
    }
}

/// A quantity of each burst, run by run.
pub(super) struct Runs(Vec<Vec<f64>>);

/// Mean of what a run gave.
pub(super) fn average(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Standard deviation of what a run gave.
pub(super) fn deviation(samples: &[f64]) -> f64 {
    let average = average(samples);
    let squares = samples.iter().map(|sample| (sample - average).powi(2)).sum::<f64>();
    (squares / samples.len() as f64).sqrt()
}

/// Of all of a run.
pub(super) fn total(samples: &[f64]) -> f64 {
    samples.iter().sum()
}

impl Runs {
    pub fn new(runs: Vec<Vec<f64>>) -> Runs {
        Runs(runs)
    }

    /// How many bursts.
    pub fn n(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// Of each run, in the mean of the runs; none where nothing arrived.
    pub fn each(&self, of: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
        let values: Vec<f64> =
            self.0.iter().filter(|run| !run.is_empty()).map(|it| of(it)).collect();
        mean(&values)
    }

    /// The same over another's, paired by run.
    pub fn over(&self, other: &Runs, of: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
        let pairs = self.0.iter().zip(&other.0).filter(|(a, b)| !a.is_empty() && !b.is_empty());
        let pairs: Vec<(f64, f64)> = pairs.map(|(a, b)| (of(a), of(b))).collect();
        ratio_of_means(&pairs)
    }

    /// How much less than another's it is, in percent.
    pub fn below(&self, other: &Runs, of: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
        let over = self.over(other, of)?;
        let percent = |share: f64| 100.0 * share;
        Some(Estimate {
            value: percent(1.0 - over.value),
            half_width: over.half_width.map(percent),
        })
    }
}

/// What came out, or a dash where nothing did.
pub(super) fn cell(found: Option<Estimate>, n: usize) -> Cell {
    found.map_or(Cell::word("-"), |found| Cell::ours(found, n))
}

/// The same beside what was printed.
pub(super) fn beside(printed: Option<f64>, found: Option<Estimate>, n: usize) -> Cell {
    match (printed, found) {
        (Some(printed), Some(found)) => Cell::compared(printed, found, n),
        (Some(printed), None) => Cell::published(printed),
        (None, found) => cell(found, n),
    }
}

/// A row of a printed table: as its file calls it, as people do, and what it is of a run's bursts.
pub(super) type Metric = (&'static str, &'static str, fn(&[f64]) -> f64);

/// The rows of tables 5-3 and 5-5.
pub(super) const LATENCY_ROWS: [Metric; 3] = [
    ("mean_latency_s", "mean", average),
    ("total_latency_s", "total of a run", total),
    ("stddev_latency_s", "standard deviation", deviation),
];

/// A printed table of cubic, R-TCP and how much less R-TCP's is, beside what came of this comparison.
pub(super) fn published(
    title: &str,
    file: &Published,
    rows: &[Metric],
    comparison: &Comparison,
) -> Result<Table, Error> {
    let columns =
        [Column::new("cubic", 3), Column::new("R-TCP", 3), Column::new("R-TCP below cubic, %", 1)];
    let mut table = Table::new(title, "latency, s", columns);
    let runs = |name| Course::of(comparison, name).map(|course| course.latencies());
    let (Some(cubic), Some(r_tcp)) = (runs(CUBIC), runs(R_TCP)) else { return Ok(table) };
    for (metric, name, of) in rows {
        let printed = |column| printed(file, metric, column);
        let cells = vec![
            beside(printed("cubic")?, cubic.each(of), cubic.n()),
            beside(printed("r_tcp")?, r_tcp.each(of), r_tcp.n()),
            beside(printed("improvement_percent")?, r_tcp.below(&cubic, of), r_tcp.n()),
        ];
        table.rows.push(Row::new(*name, cells));
    }
    Ok(table)
}

/// A number of a printed table whose rows begin with a `metric`.
pub(super) fn printed(file: &Published, metric: &str, column: &str) -> Result<Option<f64>, Error> {
    for row in file.rows() {
        if row.text("metric")? == metric {
            return Ok(row.number(column)?);
        }
    }
    Ok(None)
}

/// R-TCP as published and kirikae of today, each on hosts of its time, against cubic and bbr there and the
/// lower bound; each comparison with its path's name.
pub(super) fn then_and_now(paths: &[(&str, &Comparison)]) -> Table {
    const SIDES: [(&str, &str); 2] = [(THEN, R_TCP), (NOW, KIRIKAE)];
    const WHAT: [(&str, usize); 4] = [
        ("mean latency, s", 3),
        ("below cubic's, %", 1),
        ("below bbr's, %", 1),
        ("over the lower bound", 2),
    ];
    let column = |(who, (what, digits)): (&str, (&str, usize))| {
        Column::new(format!("{who}: {what}"), digits)
    };
    let columns = ["R-TCP as published", "kirikae of today"].into_iter();
    let columns = columns.flat_map(|who| WHAT.map(|what| (who, what))).map(column);
    let title = "R-TCP as published, on hosts of its time, and kirikae of today, on hosts of today";
    let mut table = Table::new(title, "path", columns);
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in paths {
        if !names.contains(name) {
            names.push(name);
        }
    }
    for name in names {
        let mut cells = Vec::new();
        for (host, who) in SIDES {
            let own =
                |(path, it): &&(&str, &Comparison)| path == &name && it.scenario.stack.name == host;
            let comparison = paths.iter().find(own).map(|(_, comparison)| *comparison);
            let course = |name| Course::of(comparison?, name);
            let latencies = course(who).map(|own| own.latencies());
            let n = latencies.as_ref().map_or(0, Runs::n);
            let below = |other| latencies.as_ref()?.below(&course(other)?.latencies(), average);
            cells.extend([
                cell(latencies.as_ref().and_then(|own| own.each(average)), n),
                cell(below(CUBIC), n),
                cell(below(BBR), n),
                cell(course(who).and_then(|own| own.over_bound()), n),
            ]);
        }
        table.rows.push(Row::new(name, cells));
    }
    table
}

/// Everyone of these comparisons against stock cubic of the same host, bbr and the lower bound; each
/// comparison with its name.
pub(super) fn everyone(paths: &[(&str, &Comparison)]) -> Table {
    let columns = [
        Column::new("mean latency, s", 3),
        Column::new("standard deviation, s", 3),
        Column::new("mean below cubic's, %", 1),
        Column::new("mean below bbr's, %", 1),
        Column::new("mean over the lower bound", 2),
        Column::new("from the first byte on, s", 3),
        Column::new("did not arrive", 0),
    ];
    let title = "Latency from the start of the write, against cubic and bbr on the same host and the lower bound";
    let mut table = Table::new(title, "path, host, who", columns);
    for (path, comparison) in paths {
        for contender in &comparison.scenario.contenders {
            let Some(own) = Course::of(comparison, contender.name()) else { continue };
            let latencies = own.latencies();
            let n = latencies.n();
            let below = |other: &str| {
                let other = Course::of(comparison, other).filter(|_| other != contender.name())?;
                latencies.below(&other.latencies(), average)
            };
            let host = comparison.scenario.stack.name;
            table.rows.push(Row::new(
                format!("{path}, {host}, {contender}"),
                vec![
                    cell(latencies.each(average), n),
                    cell(latencies.each(deviation), n),
                    cell(below(CUBIC), n),
                    cell(below(BBR), n),
                    cell(own.over_bound(), n),
                    cell(own.received().each(average), n),
                    Cell::word(own.unfinished().to_string()),
                ],
            ));
        }
    }
    table
}

/// R-TCP's mean latency and what it gains over cubic, of the mean and of the deviation, beside what is printed.
pub(super) fn beside_print(
    path: &str,
    latency: &Published,
    then: &Comparison,
) -> Result<[Option<Found>; 3], Error> {
    const GAINED: &str = "improvement_percent";
    let printed = |metric, column| printed(latency, metric, column);
    let mean = off(R_TCP_MEAN, then, R_TCP, average, printed("mean_latency_s", "r_tcp")?);
    let gained = gain(GAIN, then, average, printed("mean_latency_s", GAINED)?);
    let deviations = printed("stddev_latency_s", GAINED)?;
    Ok([
        mean.map(|found| found.word("path", path)),
        gained.map(|found| found.word("path", path)),
        gain(DEVIATION_GAIN, then, deviation, deviations),
    ])
}

/// What came of kirikae on today's hosts, on each of these paths.
pub(super) fn today(paths: &[(&str, &Comparison)]) -> Vec<Found> {
    let mut found = Vec::new();
    for (path, comparison) in paths.iter().filter(|(_, it)| it.scenario.stack.name == NOW) {
        let course = |name| Course::of(comparison, name);
        let (Some(own), Some(bbr)) = (course(KIRIKAE), course(BBR)) else { continue };
        let latencies = own.latencies();
        let over_bbr = latencies.over(&bbr.latencies(), average);
        let (Some(over_bound), Some(over_bbr)) = (own.over_bound(), over_bbr) else { continue };
        let n = latencies.n();
        let of = |key, value| Found::new(key, value, n).word("path", *path);
        found.extend([of(OVER_BOUND, over_bound.value), of(OVER_BBR, over_bbr.value)]);
    }
    found
}

/// A value without an interval.
pub(super) fn one(value: f64) -> Estimate {
    Estimate { value, half_width: None }
}
