//! TCP when the link under it is switched (Tsukamoto, Fukuda, Hori, Oie, 2003), rebuilt:
//! studies/handover/README.md.

mod restart;
mod sensitivity;

use kirikae_path::{ElementSpec, LinkChangeSpec, Time, bottleneck};
use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::Estimate;
use kirikae_scenario::{Controls, Scenario};

use super::{
    Axis, Cell, Column, Computed, Figure, Form, Found, Key, Material, Names, Row, Scale, Series,
    Study, Table, simulate,
};

pub(super) const STUDY: Study = Study {
    name: "handover",
    names: Names {
        published: &["throughput.csv"],
        criteria: &[
            THROUGHPUTS,
            ORDER,
            restart::WAITS,
            restart::PLATEAU,
            restart::OVERFLOWS,
            restart::NO_OVERFLOWS,
            GAIN,
            IDEAL,
            sensitivity::EVERYWHERE,
            sensitivity::DEFAULT,
            sensitivity::ORDER_EVERYWHERE,
        ],
        thresholds: &["within", "explained-within", "wait-within"],
        explanations: &[],
    },
    compute,
};

const THROUGHPUTS: Key = Key::new("throughputs");
const ORDER: Key = Key::new("order");
const GAIN: Key = Key::with("gain", &["printed", "ours"]);
const IDEAL: Key = Key::new("ideal");

/// What was published, and what Linux plays today.
const PUBLISHED: (&str, &str) = ("ns-2", "reno");
const LINUX: (&str, &str) = ("linux-6", "cubic");

/// A case: as the scenarios call it, as the printed numbers do, and which of the print it is.
const CASES: [(&str, &str, &str); 5] = [
    ("Wide to narrow", "wide_to_narrow", "Fig. 2"),
    ("Narrow to wide", "narrow_to_wide", "Fig. 3"),
    ("Same", "same", "Fig. 4"),
    ("Long disconnect", "long_disconnect", "Fig. 5"),
    ("Repeated", "repeated_4x", "Fig. 6"),
];

/// A scheme: as the scenarios call it, as the printed numbers do, and as people do. The last was not
/// simulated by the authors.
const SCHEMES: [(&str, &str, &str); 4] = [
    ("none", "mit_migrate", "MIT"),
    ("immediate-expiration", "immediate_expiration", "Immediate Expiration"),
    ("bandwidth-aware", "bandwidth_aware_ssthresh", "BW Aware ssthresh"),
    ("freeze", "", "Freeze-TCP"),
];

fn compute(material: &Material) -> Result<Computed, Error> {
    let outcome = simulate(&material.scenarios, Controls::default())?;
    let ours = Throughputs { comparisons: &outcome.comparisons };
    let table = published(material, &ours)?;
    let watched = restart::watch(material)?;
    let (told, restarts) = restart::told(&watched, &material.definition);
    let hinges = sensitivity::sensitivity(material)?;
    let (ideal, percents) = percents(material, &ours)?;
    let mut found = vec![Found::cells(THROUGHPUTS, &table), order(&table)];
    found.extend(told.into_iter().chain(gain(&table)).chain(ideal).chain(hinges.found));
    let mut figures: Vec<Figure> = [bars(&table)].into_iter().chain(hinges.figures).collect();
    figures.extend(restart::figures(&watched));
    let mut tables = vec![table, percents];
    tables.extend(restarts.into_iter().chain(hinges.tables));
    tables.extend([linux(material, &ours, LINUX), linux(material, &ours, ("linux-6", "reno"))]);
    Ok(Computed { found, tables, figures })
}

/// What came out.
struct Throughputs<'a> {
    comparisons: &'a [Comparison],
}

impl Throughputs<'_> {
    /// In Mbit/s, within the window; none where it was not simulated.
    fn of(&self, case: &str, scheme: &str, (stack, contender): (&str, &str)) -> Option<Estimate> {
        let comparison =
            self.comparisons.iter().find(|it| is(&it.scenario, case, scheme, stack))?;
        let play = comparison.plays.iter().find(|play| play.contender.name() == contender)?;
        Some(one(play.flows[0].goodput? / 1e6))
    }
}

/// Of a run in which nothing is left to chance.
fn one(value: f64) -> Estimate {
    Estimate { value, half_width: None }
}

fn is(scenario: &Scenario, case: &str, scheme: &str, stack: &str) -> bool {
    let swept = |name| scenario.swept.get(name).map(String::as_str);
    let here = scenario.title.split(", ").next() == Some(case);
    here && swept("handover") == Some(scheme) && swept("stack") == Some(stack)
}

/// Each printed throughput beside ours.
fn published(material: &Material, ours: &Throughputs) -> Result<Table, Error> {
    let columns = SCHEMES.map(|(_, _, name)| Column::new(name, 3));
    let title = "Throughput in the window after the (first) change, Mbit/s (tables 1 to 5)";
    let mut table = Table::new(title, "case", columns);
    let within = material.definition.threshold("within");
    let explained_within = material.definition.threshold("explained-within");
    for (case, key, _) in CASES {
        let mut cells = Vec::new();
        for (scheme, printed, name) in SCHEMES {
            let cell = match (throughput(material, key, printed)?, ours.of(case, scheme, PUBLISHED))
            {
                (Some(printed), Some(value)) => Cell::compared(printed, value, 1).within(within),
                (None, Some(value)) => Cell::ours(value, 1),
                // Nothing was printed of it, nor is it played in all settings.
                (None, None) => Cell::default(),
                (Some(_), None) => continue,
            };
            let missed = cell.agrees == Some(false);
            // What is explained is a difference of this size, not one of any size.
            let explained = cell.difference.is_some_and(|it| it.abs() <= explained_within);
            let why = material.definition.why(THROUGHPUTS, case, name);
            let why = why.filter(|_| missed && explained);
            cells.push(Cell { why: why.map(str::to_owned), ..cell });
        }
        if cells.len() == SCHEMES.len() {
            table.rows.push(Row::new(case, cells));
        }
    }
    Ok(table)
}

/// A printed throughput in Mbit/s.
fn throughput(material: &Material, case: &str, scheme: &str) -> Result<Option<f64>, Error> {
    printed(material, case, scheme, "throughput_mbps")
}

fn printed(
    material: &Material,
    case: &str,
    scheme: &str,
    column: &str,
) -> Result<Option<f64>, Error> {
    for row in material.printed("throughput.csv").rows() {
        if row.text("case")? == case && row.text("scheme")? == scheme {
            return Ok(row.number(column)?);
        }
    }
    Ok(None)
}

fn order(table: &Table) -> Found {
    let pairs: Vec<bool> = table.rows.iter().flat_map(in_order).collect();
    let ordered = pairs.iter().filter(|in_order| **in_order).count();
    Found::new(ORDER, ordered as f64, pairs.len())
}

/// Of each two schemes of a case, whether ours are not in another order than the printed ones.
fn in_order(row: &Row) -> Vec<bool> {
    let both = row.cells.iter().filter_map(|cell| Some((cell.published?, cell.ours?.value)));
    let both: Vec<(f64, f64)> = both.collect();
    let pairs = both.iter().flat_map(|slow| both.iter().map(move |fast| (slow, fast)));
    let pairs = pairs.filter(|(slow, fast)| slow.0 < fast.0);
    pairs.map(|(slow, fast)| slow.1 <= fast.1).collect()
}

/// What Bandwidth-Aware ssthresh adds to Immediate Expiration where the link becomes wide: how far the share is from
/// the printed one.
fn gain(table: &Table) -> Option<Found> {
    let of = |name| table.cell("Narrow to wide", name);
    let (immediate, aware) = (of(SCHEMES[1].2)?, of(SCHEMES[2].2)?);
    let printed = aware.published? / immediate.published? - 1.0;
    let ours = aware.ours?.value / immediate.ours?.value - 1.0;
    let percent = |share: f64| format!("{:+.1}", 100.0 * share);
    let found = Found::new(GAIN, 100.0 * (ours - printed).abs(), 1);
    Some(found.word("printed", percent(printed)).word("ours", percent(ours)))
}

/// The same in percent of what the narrowest link carries while it is there, as the tables print it: of the ideal
/// of formula (3) where the link changes several times; and that ideal.
fn percents(material: &Material, ours: &Throughputs) -> Result<(Option<Found>, Table), Error> {
    let title = "Percent of the bottleneck; with four changes, of the ideal (tables 1 to 5)";
    let names = SCHEMES[..3].iter().map(|(_, _, name)| Column::new(*name, 1));
    let ideal = Column::new("bottleneck or ideal, Mbit/s", 3);
    let mut table = Table::new(title, "case", names.chain([ideal]));
    let mut found = None;
    for (case, key, _) in CASES {
        let scenario = material.scenarios.iter().find(|it| is(it, case, SCHEMES[0].0, PUBLISHED.0));
        let Some(whole) = scenario.and_then(ideal_mbit) else { continue };
        let mut cells = Vec::new();
        for (scheme, name, _) in &SCHEMES[..3] {
            let Some(value) = ours.of(case, scheme, PUBLISHED) else { continue };
            let percent = one(100.0 * value.value / whole);
            cells.push(match printed(material, key, name, "percent_of_bottleneck")? {
                Some(printed) => Cell::compared(printed, percent, 1),
                None => Cell::ours(percent, 1),
            });
        }
        cells.push(match throughput(material, key, "ideal")? {
            Some(printed) => {
                found = Some(Found::new(IDEAL, (whole / printed - 1.0).abs(), 1));
                Cell::compared(printed, one(whole), 1)
            }
            None => Cell::ours(one(whole), 1),
        });
        if cells.len() == table.columns.len() {
            table.rows.push(Row::new(case, cells));
        }
    }
    Ok((found, table))
}

/// The rate of the link that is there after the change, at most that of the wide area; where it changes several times
/// the paper's ideal, formula (3), which leaves the wide area out: rate times time it is there, over the time.
fn ideal_mbit(scenario: &Scenario) -> Option<f64> {
    let change = link_change(scenario)?;
    match &change.links[1..] {
        [only] => Some(only.bits_per_second.min(beside(scenario)) as f64 / 1e6),
        _ => carried(scenario, u64::MAX),
    }
}

/// Each printed throughput as a bar beside ours.
fn bars(table: &Table) -> Figure {
    let places = || table.rows.iter().enumerate();
    let series = SCHEMES[..3].iter().enumerate().flat_map(|(scheme, (_, _, name))| {
        let cell = move |row: &Row| row.cells.get(scheme).cloned();
        let printed = places().filter_map(|(at, row)| Some((at as f64, cell(row)?.published?)));
        let ours = places().filter_map(|(at, row)| Some((at as f64, cell(row)?.ours?)));
        [
            Series::published(*name, Form::Bars, printed.collect::<Vec<_>>()),
            Series::ours(*name, Form::Bars, ours.collect::<Vec<_>>()),
        ]
    });
    let names = table.rows.iter().map(|row| row.heading.clone()).collect();
    Figure::single(
        "Throughput after the change (tables 1 to 5)",
        "Light as printed, full as simulated.",
        [Axis::new("case", Scale::Names(names)), Axis::new("throughput, Mbit/s", Scale::FromZero)],
        series.collect(),
    )
}

/// The same with today's TCP, and what the links would carry.
fn linux(material: &Material, ours: &Throughputs, host: (&str, &str)) -> Table {
    let names = ["as it is", SCHEMES[1].2, SCHEMES[2].2, SCHEMES[3].2, "what the links carry"];
    let title = format!("The same with Linux 6, {}, Mbit/s", host.1);
    let mut table = Table::new(title, "case", names.map(|name| Column::new(name, 3)));
    for (case, _, _) in CASES {
        let cells = SCHEMES.map(|(scheme, _, _)| ours.of(case, scheme, host));
        let scenario = material.scenarios.iter().find(|it| is(it, case, SCHEMES[0].0, host.0));
        let most = scenario.and_then(most_mbit);
        let cells =
            cells.into_iter().chain([most.map(|value| Estimate { value, half_width: None })]);
        let cells: Option<Vec<Cell>> = cells.map(|it| Some(Cell::ours(it?, 1))).collect();
        table.rows.extend(cells.map(|cells| Row::new(case, cells)));
    }
    table
}

/// What the links carry of data in the window, in Mbit/s.
fn most_mbit(scenario: &Scenario) -> Option<f64> {
    // Headers of IPv4 and TCP, timestamps included.
    let mtu = f64::from(scenario.stack.mtu);
    Some(carried(scenario, beside(scenario))? * (mtu - 52.0) / mtu)
}

/// What the link that changes carries in the window in Mbit/s, at no time more than `most` bit/s.
fn carried(scenario: &Scenario, most: u64) -> Option<f64> {
    let window = scenario.measured.as_ref()?;
    let change = link_change(scenario)?;
    let mut bits = 0.0;
    for (place, link) in change.links.iter().enumerate() {
        let from = (link.at + link.silence).max(window.start);
        let to = change.links.get(place + 1).map_or(window.end, |next| next.at.min(window.end));
        bits += seconds(from, to) * link.bits_per_second.min(most) as f64;
    }
    Some(bits / seconds(window.start, window.end) / 1e6)
}

fn link_change(scenario: &Scenario) -> Option<&LinkChangeSpec> {
    let mut forward = scenario.links.iter().flat_map(|link| &link.path.forward);
    forward.find_map(|element| match element {
        ElementSpec::LinkChange(spec) => Some(spec),
        _ => None,
    })
}

/// What the links that do not change carry, bit/s.
fn beside(scenario: &Scenario) -> u64 {
    let forward = scenario.links.iter().flat_map(|link| &link.path.forward);
    let others: Vec<ElementSpec> =
        forward.filter(|it| !matches!(it, ElementSpec::LinkChange(_))).cloned().collect();
    bottleneck(&others).unwrap_or(u64::MAX)
}

fn seconds(from: Time, to: Time) -> f64 {
    if to > from { (to - from).as_secs_f64() } else { 0.0 }
}
