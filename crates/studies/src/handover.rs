//! TCP when the link under it is switched (Tsukamoto, Fukuda, Hori, Oie, 2003), rebuilt:
//! studies/handover/README.md.

use kirikae_path::{ElementSpec, Time, bottleneck};
use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::Estimate;
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim;

use super::watch::WindowWatch;
use super::{
    Axis, Cell, Column, Computed, Figure, Form, Found, Key, Material, Names, Panel, Row, Scale,
    Series, Study, Table, simulate,
};

pub(super) const STUDY: Study = Study {
    name: "handover",
    names: Names {
        published: &["throughput.csv"],
        criteria: &[THROUGHPUTS, ORDER],
        thresholds: &["within"],
        explanations: &[],
    },
    compute,
};

const THROUGHPUTS: Key = Key::new("throughputs");
const ORDER: Key = Key::new("order");

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
    Ok(Computed {
        found: vec![Found::cells(THROUGHPUTS, &table), order(&table)],
        tables: vec![
            table,
            linux(material, &ours, LINUX),
            linux(material, &ours, ("linux-6", "reno")),
        ],
        figures: figures(material)?,
    })
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
        Some(Estimate { value: play.flows[0].goodput? / 1e6, half_width: None })
    }
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
    for (case, key, _) in CASES {
        let mut cells = Vec::new();
        for (scheme, printed, name) in SCHEMES {
            let Some(value) = ours.of(case, scheme, PUBLISHED) else { continue };
            let cell = match throughput(material, key, printed)? {
                Some(printed) => Cell::compared(printed, value, 1).within(within),
                None => Cell::ours(value, 1),
            };
            let missed = cell.agrees == Some(false);
            let why = material.definition.why(THROUGHPUTS, case, name).filter(|_| missed);
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
    for row in material.printed("throughput.csv").rows() {
        if row.text("case")? == case && row.text("scheme")? == scheme {
            return Ok(row.number("throughput_mbps")?);
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
    let window = scenario.measured.as_ref()?;
    let forward = || scenario.links.iter().flat_map(|link| &link.path.forward);
    let change = forward().find_map(|element| match element {
        ElementSpec::LinkChange(spec) => Some(spec),
        _ => None,
    })?;
    let others: Vec<ElementSpec> =
        forward().filter(|it| !matches!(it, ElementSpec::LinkChange(_))).cloned().collect();
    let rest = bottleneck(&others).unwrap_or(u64::MAX);
    let mut bits = 0.0;
    for (place, link) in change.links.iter().enumerate() {
        let from = (link.at + link.silence).max(window.start);
        let to = change.links.get(place + 1).map_or(window.end, |next| next.at.min(window.end));
        bits += seconds(from, to) * link.bits_per_second.min(rest) as f64;
    }
    // Headers of IPv4 and TCP, timestamps included.
    let mtu = f64::from(scenario.stack.mtu);
    Some(bits / seconds(window.start, window.end) * (mtu - 52.0) / mtu / 1e6)
}

fn seconds(from: Time, to: Time) -> f64 {
    if to > from { (to - from).as_secs_f64() } else { 0.0 }
}

/// The window in each case, with the published host and with Linux.
fn figures(material: &Material) -> Result<Vec<Figure>, Error> {
    let controls = Controls::default();
    let watched =
        sim::watch(&material.scenarios, &controls, WindowWatch::default, |watch, _| watch)?;
    let contests = material.scenarios.iter().flat_map(|scenario| {
        scenario.contenders.iter().map(move |contender| (scenario, contender.name()))
    });
    let contests: Vec<_> = contests.zip(watched).collect();
    let mut figures = Vec::new();
    for (case, _, place) in CASES {
        let panel = |title: &str, (stack, contender): (&str, &str)| {
            let mut series = Vec::new();
            let mut span = (0.0, 1.0);
            for (scheme, _, name) in &SCHEMES[..3] {
                let found = contests.iter().find(|((scenario, played), _)| {
                    is(scenario, case, scheme, stack) && *played == contender
                });
                let Some(((scenario, _), watch)) = found else { continue };
                if let Some(window) = &scenario.measured {
                    span = (seconds(Time::ZERO, window.start), seconds(Time::ZERO, window.end));
                }
                let shown = |(at, _): &&(f64, f64)| (span.0 - 1.0..span.1).contains(at);
                let points = watch.cwnd.iter().filter(shown);
                let points =
                    points.map(|(at, cwnd)| (*at, Estimate { value: *cwnd, half_width: None }));
                series.push(Series::ours(*name, Form::Line, points));
            }
            Panel {
                title: title.into(),
                x: Axis::new("time, s", Scale::Between(span.0 - 1.0, span.1)),
                y: Axis::new("cwnd, segments", Scale::FromZero),
                series,
            }
        };
        let panels = [panel("as published", PUBLISHED), panel("Linux 6, cubic", LINUX)];
        let panels: Vec<Panel> =
            panels.into_iter().filter(|panel| !panel.series.is_empty()).collect();
        if !panels.is_empty() {
            figures.push(Figure {
                title: format!("{case}: congestion window ({place})"),
                about: "The change begins at 10 s.".into(),
                panels,
            });
        }
    }
    Ok(figures)
}
