//! What becomes of the tables where what was assumed is otherwise: the queue of burst loss, how many bursts a run
//! has, and the RTT that hybla refers to.

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::{Estimate, mean, quantile};
use kirikae_scenario::Scenario;
use kirikae_table::{Kind, printed};

use super::{Compared, HYBLA, Line, PREFIX, both, judged, line, ours, place};
use crate::{Cell, Column, Definition, Material, Row, Table, idle_keep_off, simulate};

/// What the scenarios sweep that are of this alone.
const QUEUE: &str = "queue";
const BURSTS: &str = "bursts";
/// The RTTs that hybla may refer to, in milliseconds: 25 is its own.
const REFERENCES_MS: [u32; 4] = [25, 35, 50, 70];
/// Repetitions for each of them.
const REPETITIONS: u32 = 10;

/// Whether a scenario is of this, and not of a published table.
pub(super) fn is_of(scenario: &Scenario) -> bool {
    [QUEUE, BURSTS].iter().any(|name| scenario.swept.contains_key(*name))
}

pub(super) fn tables(material: &Material, all: &[Compared]) -> Result<Vec<Table>, Error> {
    let definition = &material.definition;
    let mut tables = Vec::new();
    for swept in [QUEUE, BURSTS] {
        let of = |scenario: &&Scenario| scenario.swept.contains_key(swept);
        let scenarios: Vec<Scenario> = material.scenarios.iter().filter(of).cloned().collect();
        if scenarios.is_empty() {
            continue;
        }
        let outcome = simulate(&scenarios, idle_keep_off())?;
        let mut values: Vec<&str> = scenarios.iter().map(|it| it.swept[swept].as_str()).collect();
        values.dedup();
        let rows = values.iter().map(|value| {
            let here = |it: &&Comparison| it.scenario.swept[swept] == *value;
            let comparisons: Vec<&Comparison> = outcome.comparisons.iter().filter(here).collect();
            let cells = if swept == QUEUE { queue_cells } else { bursts_cells };
            Ok(Row::new(*value, cells(&comparisons, definition)?))
        });
        let rows = rows.collect::<Result<Vec<Row>, Error>>()?;
        let mut table = if swept == QUEUE { queue_table() } else { bursts_table() };
        table.rows = rows;
        tables.push(table);
    }
    tables.extend(references(material, all)?);
    Ok(tables)
}

/// What came of these scenarios, row by row beside the printed table.
fn lines(
    kind: Kind,
    comparisons: &[&Comparison],
    definition: &Definition,
) -> Result<Vec<Line>, Error> {
    let tables = printed(kind).map_err(|error| Error::Failed(error.to_string()))?;
    let lines = comparisons.iter().filter_map(|comparison| {
        let place = place(comparison.scenario.timed()?.0)?;
        let published = tables.iter().find(|table| table.rtt_ms == place.rtt_ms)?;
        Some(line(definition, kind, published, place.point, ours(kind, comparison)))
    });
    lines.collect()
}

fn median(values: impl Iterator<Item = f64>) -> Cell {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let value = quantile(&values, 0.5);
    value.map_or(Cell::word("-"), |value| {
        Cell::ours(Estimate { value, half_width: None }, values.len())
    })
}

/// Of all rows, ours over theirs less 1, of hybla or of the others.
fn differences(lines: &[Line], hybla: bool) -> impl Iterator<Item = f64> {
    let cells = lines.iter().flat_map(|line| &line.cells);
    cells.filter(move |(name, _)| (name == HYBLA) == hybla).filter_map(|(_, cell)| cell.difference)
}

fn queue_table() -> Table {
    let columns = [
        "loss rate: mean rank correlation of a row",
        "loss rate: median difference",
        "latency: mean rank correlation of a row",
        "latency: median difference",
    ];
    let columns = columns.map(|heading| Column::new(heading, 2));
    Table::new("Burst loss with other queues, RTT 200 ms", "queue", columns)
}

fn queue_cells(comparisons: &[&Comparison], definition: &Definition) -> Result<Vec<Cell>, Error> {
    let mut cells = Vec::new();
    for kind in [Kind::BurstRate, Kind::BurstLatency] {
        let lines = lines(kind, comparisons, definition)?;
        let ranks: Vec<f64> = lines.iter().filter_map(|line| line.rank_correlation).collect();
        cells.push(mean(&ranks).map_or(Cell::word("-"), |mean| Cell::ours(mean, ranks.len())));
        let all = lines.iter().flat_map(|line| &line.cells).filter_map(|(_, cell)| cell.difference);
        cells.push(median(all));
    }
    Ok(cells)
}

fn bursts_table() -> Table {
    let columns = ["hybla: median difference of latency", "the other eight"];
    let columns = columns.map(|heading| Column::new(heading, 2));
    Table::new("Isolated loss with runs of other lengths, RTT 200 ms", "bursts in a run", columns)
}

fn bursts_cells(comparisons: &[&Comparison], definition: &Definition) -> Result<Vec<Cell>, Error> {
    let lines = lines(Kind::IsolatedLatency, comparisons, definition)?;
    Ok([true, false].map(|hybla| median(differences(&lines, hybla))).into())
}

/// Hybla with other reference RTTs beside the others as they are.
fn references(material: &Material, all: &[Compared]) -> Result<Option<Table>, Error> {
    let mut scenarios: Vec<Scenario> =
        material.scenarios.iter().filter(|it| !is_of(it)).cloned().collect();
    let hybla = format!("{PREFIX}{HYBLA}");
    scenarios
        .retain(|it| it.timed().and_then(|timed| place(timed.0)).is_some_and(|it| it.isolated));
    for scenario in &mut scenarios {
        scenario.contenders.retain(|contender| contender.name() == hybla);
        scenario.repetitions = scenario.repetitions.min(REPETITIONS);
    }
    scenarios.retain(|scenario| !scenario.contenders.is_empty());
    if scenarios.is_empty() {
        return Ok(None);
    }
    let isolated: Vec<&Compared> =
        all.iter().filter(|table| table.kind == Kind::IsolatedLatency).collect();
    let headings = isolated.iter().map(|table| {
        Column::new(format!("RTT {} ms: of what losses add, median difference", table.rtt_ms), 2)
    });
    let columns =
        headings.chain([Column::new("rows in which hybla is first (40 of 45 in print)", 0)]);
    let mut table = Table::new(
        "Isolated loss with other reference RTTs of hybla",
        "reference RTT, ms",
        columns,
    );
    for reference_ms in REFERENCES_MS {
        let mut controls = idle_keep_off();
        let refer = |it: kirikae_algorithms::Algorithm| {
            it.with("rtt0_us", reference_ms * 1000).unwrap_or(it)
        };
        controls.algorithms = controls.algorithms.into_iter().map(refer).collect();
        let outcome = simulate(&scenarios, controls)?;
        let comparisons: Vec<&Comparison> = outcome.comparisons.iter().collect();
        let hybla = lines(Kind::IsolatedLatency, &comparisons, &material.definition)?;
        table.rows.push(Row::new(
            reference_ms.to_string(),
            reference_cells(&isolated, &comparisons, hybla, &material.definition),
        ));
    }
    Ok(Some(table))
}

/// For each table how far hybla is from print where losses matter, and in how many rows of all it is first.
fn reference_cells(
    isolated: &[&Compared],
    comparisons: &[&Comparison],
    hybla: Vec<Line>,
    definition: &Definition,
) -> Vec<Cell> {
    let rtt_ms = |comparison: &&Comparison| Some(place(comparison.scenario.timed()?.0)?.rtt_ms);
    let rtts: Vec<u32> = comparisons.iter().filter_map(rtt_ms).collect();
    let mut first = 0;
    let mut rows = 0;
    let mut cells = Vec::new();
    for table in isolated {
        let mut added = Vec::new();
        for (line, _) in hybla.iter().zip(&rtts).filter(|(_, rtt_ms)| **rtt_ms == table.rtt_ms) {
            let Some((ours, published)) = line.cells.first().and_then(|(_, cell)| both(cell))
            else {
                continue;
            };
            let Some(beside) = table.lines.iter().find(|other| other.at == line.at) else {
                continue;
            };
            let others = beside.cells.iter().filter(|(name, _)| name != HYBLA);
            let others = others.filter_map(|(_, cell)| Some(both(cell)?.0));
            rows += 1;
            first += usize::from(others.fold(f64::INFINITY, f64::min) > ours);
            if line.at >= definition.threshold("lossy-from") {
                let lossless = judged::lossless(table.rtt_ms, definition);
                added.push((ours - lossless) / (published - lossless) - 1.0);
            }
        }
        cells.push(median(added.into_iter()));
    }
    cells.push(Cell::word(format!("{first} of {rows}")));
    cells
}
