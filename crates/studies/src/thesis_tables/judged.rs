//! What is asked of the tables: how far latencies are from print where losses matter, and where which algorithm is
//! first.

use kirikae_results::statistics::{mean, quantile, rank_correlation};
use kirikae_table::Kind;

use super::{Compared, HYBLA, Line, both};
use crate::{Definition, Found, Key};

pub(super) const LATENCY: Key = Key::new("latency");
pub(super) const NEAR: Key = Key::new("near");
pub(super) const LOSSY: Key = Key::new("lossy");
pub(super) const ADDED: Key = Key::new("added");
pub(super) const ADDED_SIGNED: Key = Key::new("added-signed");
pub(super) const ADDED_HYBLA: Key = Key::new("added-hybla");
pub(super) const CONSTANT: Key = Key::new("beyond-constant");
pub(super) const CONSTANT_OF_EIGHT: Key = Key::new("beyond-constant-of-eight");
pub(super) const CROSSOVERS: Key = Key::new("crossovers");
pub(super) const WIDEST: Key = Key::new("burst-widest");
pub(super) const RANKS: [(Kind, Key); 3] = [
    (Kind::IsolatedLatency, Key::new("isolated-latency-ranks")),
    (Kind::BurstRate, Key::new("burst-rate-ranks")),
    (Kind::BurstLatency, Key::new("burst-latency-ranks")),
];
/// Down the column of an algorithm, by bandwidth.
pub(super) const COLUMNS: [(Kind, Key); 2] = [
    (Kind::BurstRate, Key::new("burst-rate-by-bandwidth")),
    (Kind::BurstLatency, Key::new("burst-latency-by-bandwidth")),
];
pub(super) const KEYS: [Key; 15] = [
    LATENCY,
    NEAR,
    LOSSY,
    ADDED,
    ADDED_SIGNED,
    ADDED_HYBLA,
    CROSSOVERS,
    CONSTANT,
    CONSTANT_OF_EIGHT,
    RANKS[0].1,
    RANKS[1].1,
    RANKS[2].1,
    COLUMNS[0].1,
    COLUMNS[1].1,
    WIDEST,
];
pub(super) const THRESHOLDS: [&str; 4] = ["latency-within", "fits-below", "lossy-from", "lossless"];

/// A cell of the isolated loss tables where the load fits the path.
struct Fitting<'a> {
    algorithm: &'a str,
    loss: f64,
    ours: f64,
    published: f64,
    /// The latency that both have without loss.
    lossless: f64,
}

impl Fitting<'_> {
    fn difference(&self) -> f64 {
        self.ours / self.published - 1.0
    }

    /// Of what losses add to the latency: ours over theirs, less 1.
    fn added(&self) -> f64 {
        (self.ours - self.lossless) / (self.published - self.lossless) - 1.0
    }
}

/// What came out for each criterion.
pub(super) fn found(all: &[Compared], definition: &Definition) -> Vec<Found> {
    let of = |kind: Kind| all.iter().filter(move |table| table.kind == kind);
    let isolated: Vec<&Compared> = of(Kind::IsolatedLatency).collect();
    let mut found = latencies(&fitting(&isolated, definition), definition);
    found.extend(winners(&isolated, definition.threshold("lossy-from")));
    for (kind, key) in RANKS {
        let ranks: Vec<f64> = of(kind)
            .flat_map(|table| &table.lines)
            .filter_map(|line| line.rank_correlation)
            .collect();
        found.extend(mean(&ranks).map(|mean| Found::new(key, mean.value, ranks.len())));
    }
    for (kind, key) in COLUMNS {
        let ranks: Vec<f64> = of(kind).flat_map(columns).collect();
        found.extend(mean(&ranks).map(|mean| Found::new(key, mean.value, ranks.len())));
    }
    let widest: Vec<&Line> = of(Kind::BurstLatency).filter_map(widest).collect();
    if !widest.is_empty() {
        let count = widest.iter().filter(|line| line.first == HYBLA).count();
        found.push(Found::new(WIDEST, count as f64, widest.len()));
    }
    found
}

fn fitting<'a>(isolated: &[&'a Compared], definition: &Definition) -> Vec<Fitting<'a>> {
    let fits_below = definition.threshold("fits-below");
    let cells = isolated.iter().flat_map(|table| {
        let lossless = lossless(table.rtt_ms, definition);
        table.lines.iter().flat_map(move |line| {
            line.cells.iter().filter_map(move |(algorithm, cell)| {
                let (ours, published) = both(cell)?;
                Some(Fitting { algorithm, loss: line.at, ours, published, lossless })
            })
        })
    });
    cells.filter(|cell| cell.published < fits_below).collect()
}

/// The latency without loss, in seconds.
pub(super) fn lossless(rtt_ms: u32, definition: &Definition) -> f64 {
    f64::from(rtt_ms) / 2000.0 + definition.threshold("lossless")
}

fn latencies(cells: &[Fitting], definition: &Definition) -> Vec<Found> {
    let lossy_from = definition.threshold("lossy-from");
    let lossy = || cells.iter().filter(|cell| cell.loss >= lossy_from);
    let differences: Vec<f64> = cells.iter().map(|cell| cell.difference().abs()).collect();
    let within = definition.threshold("latency-within");
    let near = differences.iter().filter(|difference| **difference <= within).count();
    let of_hybla = |hybla: bool| {
        lossy().filter(move |cell| (cell.algorithm == HYBLA) == hybla).map(Fitting::added)
    };
    let medians = [
        (LATENCY, differences.clone()),
        (LOSSY, lossy().map(|cell| cell.difference().abs()).collect()),
        (ADDED, of_hybla(false).map(f64::abs).collect()),
        (ADDED_SIGNED, of_hybla(false).collect()),
        (ADDED_HYBLA, of_hybla(true).collect()),
    ];
    let median = |(key, mut values): (Key, Vec<f64>)| {
        values.sort_by(f64::total_cmp);
        Some(Found::new(key, quantile(&values, 0.5)?, values.len()))
    };
    let mut found: Vec<Found> = medians.into_iter().filter_map(median).collect();
    if !differences.is_empty() {
        found.push(Found::new(NEAR, near as f64, differences.len()));
    }
    found
}

/// The first algorithm of a row by these values, of all or of all but hybla.
fn first(line: &Line, with_hybla: bool, value: fn((f64, f64)) -> f64) -> Option<&str> {
    let cells = line.cells.iter().filter(|(name, _)| with_hybla || name != HYBLA);
    let values = cells.filter_map(|(name, cell)| Some((name.as_str(), value(both(cell)?))));
    values.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name)
}

/// In how many rows ours has the printed best first, less those in which the best constant answer has it: what a
/// table that always names the same algorithm comes to is 0.
fn beyond_constant<'a>(
    lines: impl Iterator<Item = &'a Line>,
    with_hybla: bool,
) -> Option<(f64, usize)> {
    let rows: Vec<(&str, &str)> = lines
        .filter_map(|line| {
            let ours = first(line, with_hybla, |(ours, _)| ours)?;
            Some((ours, first(line, with_hybla, |(_, published)| published)?))
        })
        .collect();
    let equal = rows.iter().filter(|(ours, published)| ours == published).count();
    let constant = |name: &str| rows.iter().filter(|(_, published)| *published == name).count();
    let best = rows.iter().map(|(_, published)| constant(published)).max()?;
    Some((equal as f64 - best as f64, rows.len()))
}

fn winners(isolated: &[&Compared], lossy_from: f64) -> Vec<Found> {
    let lines = || isolated.iter().flat_map(|table| &table.lines);
    let all = beyond_constant(lines(), true);
    let eight = beyond_constant(lines().filter(|line| line.at >= lossy_from), false);
    let mut found = Vec::new();
    found.extend(all.map(|(value, of)| Found::new(CONSTANT, value, of)));
    found.extend(eight.map(|(value, of)| Found::new(CONSTANT_OF_EIGHT, value, of)));
    let (also, of) = crossovers(lines());
    if of > 0 {
        found.push(Found::new(CROSSOVERS, also as f64, of));
    }
    found
}

/// In how many rows in which hybla is not the printed best ours has another first, too, and of how many.
fn crossovers<'a>(lines: impl Iterator<Item = &'a Line>) -> (usize, usize) {
    let others = lines.filter(|line| first(line, true, |(_, published)| published) != Some(HYBLA));
    let others: Vec<&Line> = others.collect();
    (others.iter().filter(|line| line.first != HYBLA).count(), others.len())
}

/// Spearman's rank correlation of each algorithm's column with the printed one.
fn columns(table: &Compared) -> Vec<f64> {
    let algorithms = table.lines.first().map_or(0, |line| line.cells.len());
    let column = |place: usize| {
        let pairs: Vec<(f64, f64)> =
            table.lines.iter().filter_map(|line| both(&line.cells.get(place)?.1)).collect();
        rank_correlation(&pairs)
    };
    (0..algorithms).filter_map(column).collect()
}

/// The row of the widest bandwidth.
fn widest(table: &Compared) -> Option<&Line> {
    table.lines.iter().max_by(|a, b| a.at.total_cmp(&b.at))
}

#[cfg(test)]
mod tests {
    use kirikae_results::statistics::Estimate;
    use kirikae_table::printed;

    use super::*;
    use crate::Cell;

    /// The printed table of RTT 100 ms with what `ours` makes of each printed value.
    fn lines(ours: impl Fn(&str, f64) -> f64) -> Vec<Line> {
        const ALGORITHMS: [&str; 9] =
            ["bic", "cubic", "highspeed", "htcp", HYBLA, "reno", "scalable", "vegas", "westwood"];
        let table = printed(Kind::IsolatedLatency).unwrap();
        let table = table.iter().find(|table| table.rtt_ms == 100).unwrap();
        let line = |at: f64| {
            let cell = |name: &str| {
                let published = table.value(at, name).unwrap();
                let value = ours(name, published);
                let estimate = Estimate { value, half_width: None };
                (name.to_owned(), Cell::compared(published, estimate, 1))
            };
            let cells: Vec<(String, Cell)> = ALGORITHMS.iter().map(|name| cell(name)).collect();
            let lowest =
                cells.iter().min_by(|a, b| both(&a.1).unwrap().0.total_cmp(&both(&b.1).unwrap().0));
            let first = lowest.unwrap().0.clone();
            Line { at, cells, first, first_over_lowest: 1.0, rank_correlation: None }
        };
        [0.0001, 0.001, 0.004, 0.006, 0.01, 0.02, 0.05].map(line).into()
    }

    #[test]
    fn the_print_has_crossovers_and_a_table_that_always_names_hybla_has_none() {
        let print = lines(|_, printed| printed);
        assert_eq!(beyond_constant(print.iter(), true), Some((4.0, 7)));
        assert_eq!(crossovers(print.iter()), (4, 4));
        let always = lines(|name, printed| if name == HYBLA { 0.01 } else { printed });
        assert_eq!(beyond_constant(always.iter(), true), Some((0.0, 7)));
        assert_eq!(crossovers(always.iter()), (0, 4));
    }

    #[test]
    fn a_table_that_names_one_of_the_other_eight_everywhere_is_no_better_than_a_constant_answer() {
        let always = lines(|name, printed| if name == "westwood" { 0.01 } else { printed });
        assert_eq!(beyond_constant(always.iter(), false), Some((0.0, 7)));
        // What is first most often in print, and what never is.
        let never = lines(|name, printed| if name == "reno" { 0.01 } else { printed });
        assert!(beyond_constant(never.iter(), false).unwrap().0 < 0.0);
    }
}
