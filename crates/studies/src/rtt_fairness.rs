//! Two downloads with different RTTs share a bottleneck (Kozu, Akiyama, Yamaguchi, 2014):
//! studies/rtt-fairness/README.md.

use kirikae_algorithms::Algorithm;
use kirikae_results::Error;
use kirikae_results::outcome::{Comparison, Outcome};
use kirikae_results::play::Play;
use kirikae_results::statistics::{Estimate, fairness, mean};
use kirikae_scenario::{Controls, Scenario};

use super::{
    Axis, Cell, Column, Computed, Figure, Form, Found, Key, Material, Names, Panel, Row, Scale,
    Series, Study, Table, simulate, swept,
};

pub(super) const STUDY: Study = Study {
    name: "rtt-fairness",
    names: Names {
        published: &[],
        criteria: &[GAIN, NEARER, MORE, SECONDS, SHIPPED, LONGEST_UNIT],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

/// With the RTT in milliseconds: what Jain's index gains, at how many places it is nearer 1 (Fig. 3), and at how many
/// the second flow carries more (Fig. 2).
const GAIN: Key = Key::with("gain", &["queue", "gain"]);
const NEARER: Key = Key::new("nearer");
const MORE: Key = Key::new("second-carries-more");
/// What it gains with the RTT in other units.
const SECONDS: Key = Key::with("gain-seconds", GAINED);
const SHIPPED: Key = Key::with("gain-shipped", GAINED);
const LONGEST_UNIT: Key = Key::with("gain-128-ms", GAINED);
const GAINED: &[&str] = &["queue", "gain", "half"];

/// CUBIC as the authors had it, the kernel's.
const STANDARD: &str = "cubic";
/// The contender with the shorter recovery.
const FAIR: &str = "kk_cubic_fair";
const UNIT: &str = "rtt_ref_us";
/// The RTT of the first flow.
const FIRST_MS: f64 = 2.0;
/// The queue at which every unit is played; at the others those that the paper may mean.
const ALL_UNITS_AT: &str = "250 packets";

/// A unit of the RTT by whose cube root K is divided, which the paper does not tell.
#[derive(Clone, Copy)]
struct Unit {
    us: u32,
    /// As people read it.
    name: &'static str,
    /// Whether formula (3) may mean it.
    is_reading: bool,
}

/// Milliseconds, as the paper gives its RTTs; what kk_cubic_fair ships with; the longest RTT of the paper; seconds.
const UNITS: [Unit; 4] = [
    MILLISECONDS,
    Unit { us: 25_000, name: "kk_cubic_fair, RTT by 25 ms", is_reading: false },
    Unit { us: 128_000, name: "kk_cubic_fair, RTT by 128 ms", is_reading: false },
    Unit { us: 1_000_000, name: "kk_cubic_fair, RTT in s", is_reading: true },
];
const MILLISECONDS: Unit = Unit { us: 1_000, name: "kk_cubic_fair, RTT in ms", is_reading: true };

/// What came of a contender with a queue and a second RTT.
struct Place<'a> {
    queue: &'a str,
    second_ms: f64,
    /// The contender's name, and with RTT-fair CUBIC the unit.
    name: &'static str,
    plays: &'a [Play],
}

impl Place<'_> {
    /// Of the first or second flow, in Mbit/s.
    fn goodput(&self, flow: usize) -> Option<Estimate> {
        let each = self.plays.iter().filter_map(|play| Some(play.flows[flow].goodput? / 1e6));
        mean(&each.collect::<Vec<f64>>())
    }

    /// Jain's index of each repetition.
    fn indices(&self) -> Vec<f64> {
        let index = |play: &Play| {
            let goodputs: Vec<f64> = play.flows.iter().filter_map(|flow| flow.goodput).collect();
            fairness(&goodputs)
        };
        self.plays.iter().filter_map(index).collect()
    }

    /// What the second flow carried in each repetition.
    fn second(&self) -> Vec<f64> {
        self.plays.iter().filter_map(|play| play.flows[1].goodput).collect()
    }

    fn index(&self) -> Option<Estimate> {
        mean(&self.indices())
    }
}

fn compute(material: &Material) -> Result<Computed, Error> {
    let others = simulate(&without_fair(&material.scenarios), Controls::default())?;
    let mut fair = Vec::new();
    for unit in UNITS {
        fair.push((unit.name, simulate(&with_unit(&material.scenarios, unit), in_unit(unit))?));
    }
    let mut places: Vec<Place> = places(&others, None).collect();
    places.extend(fair.iter().flat_map(|(name, outcome)| self::places(outcome, Some(*name))));
    let by_queue = by_queue(&places);
    let table = |(queue, own): &(&str, Vec<&Place>)| table(queue, own);
    Ok(Computed {
        found: found(&by_queue),
        tables: by_queue.iter().map(table).collect(),
        figures: vec![throughputs(&by_queue), fairnesses(&by_queue)],
    })
}

/// Scenarios whose contenders do not depend on the unit.
fn without_fair(scenarios: &[Scenario]) -> Vec<Scenario> {
    let mut scenarios = scenarios.to_vec();
    for scenario in &mut scenarios {
        scenario.contenders.retain(|it| it.name() != FAIR);
    }
    scenarios.retain(|scenario| !scenario.contenders.is_empty());
    scenarios
}

/// Scenarios in which RTT-fair CUBIC is played with a unit.
fn with_unit(scenarios: &[Scenario], unit: Unit) -> Vec<Scenario> {
    let mut scenarios = scenarios.to_vec();
    for scenario in &mut scenarios {
        let here = unit.is_reading || queue(scenario) == Some(ALL_UNITS_AT);
        scenario.contenders.retain(|it| it.name() == FAIR && here);
    }
    scenarios.retain(|scenario| !scenario.contenders.is_empty());
    scenarios
}

/// What ships, with this unit.
fn in_unit(unit: Unit) -> Controls {
    let set = |it: Algorithm| match it.name() {
        FAIR => it.with(UNIT, unit.us).expect("the units are in its range"),
        _ => it,
    };
    Controls { algorithms: Algorithm::all().map(set).collect(), ..Controls::default() }
}

fn queue(scenario: &Scenario) -> Option<&str> {
    scenario.swept.get("queue").map(String::as_str)
}

fn places<'a>(
    outcome: &'a Outcome,
    name: Option<&'static str>,
) -> impl Iterator<Item = Place<'a>> + use<'a> {
    let of_one = move |comparison: &'a Comparison| {
        let each = comparison.plays.chunk_by(|a, b| a.contender == b.contender);
        each.filter_map(move |plays| {
            Some(Place {
                queue: queue(&comparison.scenario)?,
                second_ms: 2.0 * swept(&comparison.scenario, "second")?,
                name: name.or(Some(plays.first()?.contender.name()))?,
                plays,
            })
        })
    };
    outcome.comparisons.iter().flat_map(of_one)
}

/// The places of each queue, in the scenarios' order: by the second RTT.
fn by_queue<'p, 'a>(places: &'p [Place<'a>]) -> Vec<(&'a str, Vec<&'p Place<'a>>)> {
    let mut queues: Vec<(&str, Vec<&Place>)> = Vec::new();
    for place in places {
        match queues.iter_mut().find(|(queue, _)| *queue == place.queue) {
            Some((_, own)) => own.push(place),
            None => queues.push((place.queue, vec![place])),
        }
    }
    for (_, own) in &mut queues {
        own.sort_by(|a, b| a.second_ms.total_cmp(&b.second_ms));
    }
    queues
}

/// The contenders in the order in which they were played.
fn contenders(places: &[&Place]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for place in places {
        if !names.contains(&place.name) {
            names.push(place.name);
        }
    }
    names
}

fn table(queue: &str, places: &[&Place]) -> Table {
    let names = contenders(places);
    let heading = |what: &str, digits: usize| {
        names
            .iter()
            .map(move |name| Column::new(format!("{name}: {what}"), digits))
            .collect::<Vec<_>>()
    };
    let columns = [
        heading("first flow, Mbit/s", 1),
        heading("second flow, Mbit/s", 1),
        heading("Jain's index", 3),
    ];
    let title =
        format!("Throughput and fairness by the second RTT, queue of {queue} (Figs 2 and 3)");
    let mut table = Table::new(title, "second RTT, ms", columns.into_iter().flatten());
    for row in places.chunk_by(|a, b| a.second_ms == b.second_ms) {
        let cells = |of: &dyn Fn(&Place) -> Option<Estimate>| {
            row.iter()
                .map(|place| {
                    of(place).map_or(Cell::word("-"), |ours| Cell::ours(ours, place.plays.len()))
                })
                .collect::<Vec<Cell>>()
        };
        let cells = [
            cells(&|place| place.goodput(0)),
            cells(&|place| place.goodput(1)),
            cells(&|place| place.index()),
        ];
        table.rows.push(Row::new(row[0].second_ms.to_string(), cells.concat()));
    }
    table
}

type Queues<'q> = [(&'q str, Vec<&'q Place<'q>>)];

/// A panel for each queue, with the series that `series` makes of its places.
fn panels(queues: &Queues, y: &Axis, series: impl Fn(&[&Place]) -> Vec<Series>) -> Vec<Panel> {
    let panel = |(queue, own): &(&str, Vec<&Place>)| Panel {
        title: format!("Queue of {queue}"),
        x: Axis::new("second RTT, ms", Scale::Log),
        y: y.clone(),
        series: series(own),
    };
    queues.iter().map(panel).collect()
}

fn curve(
    title: String,
    name: &str,
    places: &[&Place],
    of: impl Fn(&Place) -> Option<Estimate>,
) -> Series {
    let own = places.iter().filter(|place| place.name == name);
    Series::ours(title, Form::Curve, own.filter_map(|place| Some((place.second_ms, of(place)?))))
}

fn throughputs(queues: &Queues) -> Figure {
    let y = Axis::new("throughput, Mbit/s", Scale::FromZero);
    let series = |own: &[&Place]| {
        let both = [STANDARD, MILLISECONDS.name].into_iter().flat_map(|name| {
            [(0, "first flow"), (1, "second flow")].map(|(flow, which)| {
                curve(format!("{name}, {which}"), name, own, |place| place.goodput(flow))
            })
        });
        both.collect()
    };
    Figure {
        title: "Throughput of both flows (Fig. 2)".into(),
        about: format!(
            "The RTT of the first flow is {FIRST_MS} ms. The print has the bandwidth and the queue of a \
             network that it does not describe, so its curves cannot be laid over ours."
        ),
        panels: panels(queues, &y, series),
    }
}

fn fairnesses(queues: &Queues) -> Figure {
    let y = Axis::new("Jain's fairness index", Scale::Between(0.5, 1.02));
    let series = |own: &[&Place]| {
        let each = contenders(own).into_iter();
        each.map(|name| curve(name.to_owned(), name, own, |place| place.index())).collect()
    };
    Figure {
        title: "Jain's fairness index (Fig. 3)".into(),
        about: "1 where both flows have the same, 1/2 where one has everything. kk_cubic is CUBIC of RFC \
                9438, from which kk_cubic_fair differs in K alone: K is divided by the cube root of the RTT, of \
                which the paper does not tell the unit."
            .into(),
        panels: panels(queues, &y, series),
    }
}

/// Of each repetition, what RTT-fair CUBIC has more than the kernel's at a second RTT: flows begin at the same times.
fn more(own: &[&Place], fair: &Place, of: impl Fn(&Place) -> Vec<f64>) -> Option<Vec<f64>> {
    let same = |it: &&&Place| it.name == STANDARD && it.second_ms == fair.second_ms;
    let standard = of(own.iter().find(same)?);
    Some(of(fair).into_iter().zip(standard).map(|(fair, standard)| fair - standard).collect())
}

/// The same at each second RTT that differs from the first.
fn apart(own: &[&Place], name: &str, of: impl Fn(&Place) -> Vec<f64>) -> Vec<Vec<f64>> {
    let apart = own.iter().filter(|place| place.name == name && place.second_ms > FIRST_MS);
    apart.filter_map(|fair| more(own, fair, &of)).collect()
}

/// What the index gains in the mean of all second RTTs, and in how many repetitions, which do not depend on each
/// other.
fn gain(own: &[&Place], name: &str) -> Option<(Estimate, usize)> {
    let each = apart(own, name, |place| place.indices());
    let repetitions = each.iter().map(Vec::len).min()?;
    let of_all = |place| each.iter().map(|gains| gains[place]).sum::<f64>() / each.len() as f64;
    Some((mean(&(0..repetitions).map(of_all).collect::<Vec<f64>>())?, repetitions))
}

fn found(queues: &Queues) -> Vec<Found> {
    let mut found = Vec::new();
    for (queue, own) in queues {
        let Some((Estimate { value, half_width: Some(half) }, n)) = gain(own, MILLISECONDS.name)
        else {
            continue;
        };
        let gain = Found::new(GAIN, value - half, n).word("gain", format!("{value:+.3}"));
        found.push(gain.word("queue", *queue));
    }
    let above = |of: &dyn Fn(&Place) -> Vec<f64>| {
        let each = queues.iter().flat_map(|(_, own)| apart(own, MILLISECONDS.name, of));
        let means: Vec<f64> = each.filter_map(|more| Some(mean(&more)?.value)).collect();
        (means.iter().filter(|more| **more > 0.0).count() as f64, means.len())
    };
    let nearer = above(&|place| place.indices());
    let more = above(&|place| place.second());
    for (key, (some, of)) in [(NEARER, nearer), (MORE, more)] {
        found.push(Found::new(key, some, of));
    }
    for (key, unit) in [(SHIPPED, UNITS[1]), (LONGEST_UNIT, UNITS[2]), (SECONDS, UNITS[3])] {
        let own = queues.iter().find(|(queue, _)| *queue == ALL_UNITS_AT);
        let Some((queue, own)) = own else { continue };
        let Some((Estimate { value, half_width: Some(half) }, n)) = gain(own, unit.name) else {
            continue;
        };
        let end = if key.name == SHIPPED.name { value - half } else { value + half };
        let gained = Found::new(key, end, n).word("gain", format!("{value:+.3}"));
        found.push(gained.word("queue", *queue).word("half", format!("{half:.3}")));
    }
    found
}
