//! Two downloads with different RTTs share a bottleneck (Kozu, Akiyama, Yamaguchi, 2014):
//! studies/rtt-fairness/README.md.

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::play::Play;
use kirikae_results::statistics::{Estimate, fairness, mean};
use kirikae_scenario::Controls;

use super::{
    Axis, Cell, Column, Computed, Figure, Form, Found, Key, Material, Names, Panel, Row, Scale,
    Series, Study, Table, simulate, swept,
};

pub(super) const STUDY: Study = Study {
    name: "rtt-fairness",
    names: Names { published: &[], criteria: &[GAIN, NEARER], thresholds: &[], explanations: &[] },
    compute,
};

const GAIN: Key = Key::with("gain", &["queue", "gain"]);
const NEARER: Key = Key::new("nearer");

/// The contender with the shorter recovery, by its name; the others are CUBIC.
const FAIR: &str = "kk_cubic_fair";
/// CUBIC as the authors had it, the kernel's.
const STANDARD: &str = "cubic";
/// The RTT of the first flow.
const FIRST_MS: f64 = 2.0;
/// What came of a contender with a queue and a second RTT.
struct Place<'a> {
    queue: &'a str,
    second_ms: f64,
    contender: &'static str,
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

    fn index(&self) -> Option<Estimate> {
        mean(&self.indices())
    }
}

fn compute(material: &Material) -> Result<Computed, Error> {
    let outcome = simulate(&material.scenarios, Controls::default())?;
    let places: Vec<Place> = outcome.comparisons.iter().flat_map(places).collect();
    let mut queues: Vec<&str> = places.iter().map(|place| place.queue).collect();
    queues.dedup();
    let own = |queue: &&str| {
        let own: Vec<&Place> = places.iter().filter(|place| place.queue == *queue).collect();
        table(queue, &own)
    };
    Ok(Computed {
        found: found(&places),
        tables: queues.iter().map(own).collect(),
        figures: vec![throughputs(&places), fairnesses(&places)],
    })
}

fn places(comparison: &Comparison) -> impl Iterator<Item = Place<'_>> {
    let scenario = &comparison.scenario;
    let each = comparison.plays.chunk_by(|a, b| a.contender == b.contender);
    each.filter_map(move |plays| {
        Some(Place {
            queue: scenario.swept.get("queue")?,
            second_ms: 2.0 * swept(scenario, "second")?,
            contender: plays.first()?.contender.name(),
            plays,
        })
    })
}

/// The contenders in the scenario's order.
fn contenders(places: &[&Place]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for place in places {
        if !names.contains(&place.contender) {
            names.push(place.contender);
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

/// A panel for each queue, with the series that `series` makes of its places.
fn panels(places: &[Place], y: &Axis, series: impl Fn(&[&Place]) -> Vec<Series>) -> Vec<Panel> {
    let each = places.chunk_by(|a, b| a.queue == b.queue);
    each.map(|own| Panel {
        title: format!("Queue of {}", own[0].queue),
        x: Axis::new("second RTT, ms", Scale::Log),
        y: y.clone(),
        series: series(&own.iter().collect::<Vec<_>>()),
    })
    .collect()
}

fn curve(
    name: String,
    contender: &str,
    places: &[&Place],
    of: impl Fn(&Place) -> Option<Estimate>,
) -> Series {
    let own = places.iter().filter(|place| place.contender == contender);
    Series::ours(name, Form::Curve, own.filter_map(|place| Some((place.second_ms, of(place)?))))
}

fn throughputs(places: &[Place]) -> Figure {
    let y = Axis::new("throughput, Mbit/s", Scale::FromZero);
    let series = |own: &[&Place]| {
        let both = [STANDARD, FAIR].into_iter().flat_map(|name| {
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
        panels: panels(places, &y, series),
    }
}

fn fairnesses(places: &[Place]) -> Figure {
    let y = Axis::new("Jain's fairness index", Scale::Between(0.5, 1.02));
    let series = |own: &[&Place]| {
        let each = contenders(own).into_iter();
        each.map(|name| curve(name.to_owned(), name, own, |place| place.index())).collect()
    };
    Figure {
        title: "Jain's fairness index (Fig. 3)".into(),
        about: "1 where both flows have the same, 1/2 where one has everything. kk_cubic is CUBIC of RFC \
                9438, from which kk_cubic_fair differs in K alone."
            .into(),
        panels: panels(places, &y, series),
    }
}

/// What RTT-fair CUBIC adds to the index of the kernel's, in each repetition: the flows begin at the same
/// times.
fn gains(fair: &Place, places: &[Place]) -> Option<Vec<f64>> {
    let same = |place: &&Place| {
        (place.queue, place.second_ms, place.contender) == (fair.queue, fair.second_ms, STANDARD)
    };
    let standard = places.iter().find(same)?.indices();
    Some(fair.indices().into_iter().zip(standard).map(|(fair, standard)| fair - standard).collect())
}

fn found(places: &[Place]) -> Vec<Found> {
    let apart = |place: &&Place| place.contender == FAIR && place.second_ms > FIRST_MS;
    let (mut nearer, mut of) = (0.0, 0);
    let mut found = Vec::new();
    for own in places.chunk_by(|a, b| a.queue == b.queue) {
        let each: Vec<Vec<f64>> =
            own.iter().filter(apart).filter_map(|fair| gains(fair, own)).collect();
        let means = || each.iter().filter_map(|gains| Some(mean(gains)?.value));
        nearer += means().filter(|gain| *gain > 0.0).count() as f64;
        of += means().count();
        // The mean of all second RTTs in each repetition: repetitions do not depend on each other.
        let repetitions = each.iter().map(Vec::len).min().unwrap_or(0);
        let of_all = |place| each.iter().map(|gains| gains[place]).sum::<f64>() / each.len() as f64;
        let gain = mean(&(0..repetitions).map(of_all).collect::<Vec<f64>>());
        let Some(Estimate { value, half_width: Some(half) }) = gain else { continue };
        let gain = Found::new(GAIN, value - half, repetitions).word("gain", format!("{value:.3}"));
        found.push(gain.word("queue", own[0].queue));
    }
    found.push(Found::new(NEARER, nearer, of));
    found
}
