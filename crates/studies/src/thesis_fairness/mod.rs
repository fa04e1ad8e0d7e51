//! Fairness of R-TCP (Oguchi, doctoral thesis, 2016, section 4.7): what algorithms carry by the loss rate, what a
//! longer round trip costs, and what connections that share a bottleneck leave to each other.
//! studies/thesis-fairness/README.md.

mod competing;
mod response;

use kirikae_algorithms::Algorithm;
use kirikae_results::Error;
use kirikae_results::outcome::{Comparison, Outcome};
use kirikae_results::statistics::{Estimate, mean};
use kirikae_results::summary::ScenarioSummary;
use kirikae_scenario::{Controls, Scenario};
use kirikae_table::{Kind, printed, thesis};

use super::wireless::{NOW, R_TCP, THEN, controls};
use super::{
    Axis, Cell, Column, Computed, Figure, Form, Found, Key, Material, Names, Panel, Row, Scale,
    Series, Study, Table, simulate, swept,
};

pub(super) const STUDY: Study = Study {
    name: "thesis-fairness",
    names: Names {
        published: &[],
        criteria: &[
            GROWTH_THEN,
            GROWTH_CUBIC,
            GROWTH_PRINTED,
            GROWTH_NOW,
            response::ALIKE,
            response::ALL,
            response::RESTRICTED_OVER,
            RESTRICTED_GAIN,
            RESTRICTED_COST,
            competing::BESIDE_RENO,
            competing::RESTRICTED_BESIDE_RENO,
            competing::GAIN_THEN,
            competing::GAIN_NOW,
            competing::FAR,
        ],
        thresholds: &["like-reno", "heavy"],
        explanations: &[],
    },
    compute,
};

const GROWTH_THEN: Key = Key::new("growth-then");
const GROWTH_CUBIC: Key = Key::new("growth-cubic");
const GROWTH_PRINTED: Key = Key::with("growth-printed", &["own", "printed"]);
const GROWTH_NOW: Key = Key::with("growth-now", &["cubic"]);
const RESTRICTED_GAIN: Key = Key::with("restricted-gain", &["rtt", "below"]);
const RESTRICTED_COST: Key = Key::with("restricted-cost", &["rtt"]);

/// R-TCP among those candidates that come down to reno, as its curve is called.
const RESTRICTED: &str = "r-tcp, restricted";
const CUBIC: &str = "kk_cubic";
/// The thesis' loss rate.
const LOSS: f64 = 0.05;

/// A contender's figures by what a sweep stands for.
struct Curve {
    name: String,
    points: Vec<(f64, Estimate, usize)>,
}

impl Curve {
    fn at(&self, x: f64) -> Option<(Estimate, usize)> {
        self.points.iter().find(|point| point.0 == x).map(|(_, value, n)| (*value, *n))
    }

    fn value(&self, x: f64) -> Option<f64> {
        Some(self.at(x)?.0.value)
    }

    /// From the first to the last.
    fn growth(&self) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        (first.0 < last.0).then_some(last.1.value / first.1.value)
    }

    fn series(&self) -> Series {
        Series::ours(&self.name, Form::Curve, self.points.iter().map(|(x, y, _)| (*x, *y)))
    }
}

/// What came of the scenarios: latency by RTT in ms, throughput by loss rate, and of connections that share a
/// bottleneck.
#[derive(Default)]
struct Course {
    latency: Vec<Curve>,
    response: Vec<Curve>,
    shared: Vec<Comparison>,
}

impl Course {
    fn of(scenarios: &[Scenario], controls: Controls) -> Result<Course, Error> {
        let outcome = simulate(scenarios, controls)?;
        let latency = curves(&outcome, |comparison| {
            let rtt_ms = comparison.scenario.timed()?.0.base_rtt().as_secs_f64() * 1e3;
            Some((rtt_ms, latencies(comparison)))
        });
        let response = curves(&outcome, |comparison| {
            Some((swept(&comparison.scenario, "loss")?, goodputs(comparison)))
        });
        let comparisons = outcome.comparisons.into_iter();
        let shared = comparisons.filter(|it| it.scenario.flows.len() > 1).collect();
        Ok(Course { latency, response, shared })
    }

    /// R-TCP alone, among these candidates; the thesis' hosts.
    fn restricted(scenarios: &[Scenario], candidates: Vec<&'static str>) -> Result<Course, Error> {
        let mut scenarios = scenarios.to_vec();
        for scenario in &mut scenarios {
            scenario.contenders.retain(|contender| contender.name() == R_TCP);
        }
        scenarios.retain(|scenario| !scenario.contenders.is_empty());
        let mut course = Course::of(&scenarios, Controls { r_tcp: candidates, ..controls(THEN) })?;
        for curve in course.latency.iter_mut().chain(&mut course.response) {
            RESTRICTED.clone_into(&mut curve.name);
        }
        Ok(course)
    }
}

fn compute(material: &Material) -> Result<Computed, Error> {
    let of = |stack: &str| -> Vec<Scenario> {
        let own = material.scenarios.iter().filter(|scenario| scenario.stack.name == stack);
        own.cloned().collect()
    };
    let then = of(THEN);
    let (mut old, new) = (Course::of(&then, controls(THEN))?, Course::of(&of(NOW), controls(NOW))?);
    let (alike, alike_found) = response::like_reno(&old.response, &material.definition);
    let restricted = match alike.is_empty() {
        true => Course::default(),
        false => Course::restricted(&then, candidates(&alike))?,
    };
    old.latency.extend(restricted.latency);
    old.response.extend(restricted.response);
    let print = Print::read()?;
    let mut found = growths(&print, &old.latency, &new.latency);
    found.extend(alike_found);
    found.extend(response::found(&old.response, &material.definition));
    found.extend(cost(&old.latency));
    found.extend(competing::found(&old.shared, &restricted.shared, &new.shared));
    let mut tables = vec![
        by_rtt(&print, &old.latency, &new.latency),
        response::table("Linux 2.6.33", &old.response),
        response::table("Linux 6", &new.response),
    ];
    tables.extend(competing::tables(&old.shared, &restricted.shared, &new.shared));
    let mut figures = vec![
        latency_figure(&print, &old.latency, &new.latency),
        response::figure(&old.response, &new.response),
    ];
    figures.extend(competing::figure(&old.shared, &new.shared));
    Ok(Computed { found, tables, figures })
}

/// Those of the thesis' candidates that are named, with cubic, which connections begin with, and reno.
fn candidates(alike: &[String]) -> Vec<&'static str> {
    let is_in = |name: &&&str| {
        ["cubic", "reno"].contains(*name) || alike.iter().any(|it| *it == format!("kk_{name}"))
    };
    thesis::CANDIDATES.iter().filter(is_in).copied().collect()
}

/// Each contender's name, value and n.
type Values = Vec<(String, Estimate, usize)>;

/// Of the scenarios that have such points.
fn curves(outcome: &Outcome, point: impl Fn(&Comparison) -> Option<(f64, Values)>) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for comparison in &outcome.comparisons {
        let Some((x, values)) = point(comparison) else { continue };
        for (name, value, n) in values {
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push((x, value, n)),
                None => curves.push(Curve { name, points: vec![(x, value, n)] }),
            }
        }
    }
    curves
}

fn latencies(comparison: &Comparison) -> Values {
    let each = ScenarioSummary::of(comparison).contenders.into_iter();
    each.filter_map(|it| Some((it.contender.name().to_owned(), it.mean_s?, it.n))).collect()
}

/// In Mbit/s.
fn goodputs(comparison: &Comparison) -> Values {
    let each = comparison.plays.chunk_by(|a, b| a.contender == b.contender);
    let one = |plays: &[kirikae_results::play::Play]| {
        let goodputs = plays.iter().filter_map(|play| Some(play.flows[0].goodput? / 1e6));
        let goodputs: Vec<f64> = goodputs.collect();
        Some((plays.first()?.contender.name().to_owned(), mean(&goodputs)?, goodputs.len()))
    };
    each.filter_map(one).collect()
}

/// Latencies at [`LOSS`] by RTT in ms: CUBIC's, and the lowest, which R-TCP chooses.
struct Print {
    cubic: Vec<(f64, f64)>,
    lowest: Vec<(f64, f64, String)>,
}

impl Print {
    fn read() -> Result<Print, Error> {
        let tables = printed(Kind::IsolatedLatency);
        let tables = tables.map_err(|error| Error::Failed(error.to_string()))?;
        let mut print = Print { cubic: Vec::new(), lowest: Vec::new() };
        for table in &tables {
            let rtt = f64::from(table.rtt_ms);
            let names = Algorithm::all().map(|it| it.name().trim_start_matches("kk_"));
            let values = names.filter_map(|name| Some((table.value(LOSS, name)?, name.to_owned())));
            let lowest = values.min_by(|a, b| a.0.total_cmp(&b.0));
            print.cubic.extend(table.value(LOSS, "cubic").map(|value| (rtt, value)));
            print.lowest.extend(lowest.map(|(value, name)| (rtt, value, name)));
        }
        Ok(print)
    }
}

fn named<'a>(curves: &'a [Curve], name: &str) -> Option<&'a Curve> {
    curves.iter().find(|curve| curve.name == name)
}

fn by_rtt(print: &Print, old: &[Curve], new: &[Curve]) -> Table {
    let columns = old
        .iter()
        .map(|curve| Column::new(format!("{}, Linux 2.6.33", curve.name), 3))
        .chain(new.iter().map(|curve| Column::new(format!("{}, Linux 6", curve.name), 3)));
    let mut table = Table::new(
        "Latency of a burst of 64 KB at 5 % isolated loss, s (Fig. 4-26)",
        "RTT, ms",
        columns,
    );
    let rtts = old.iter().chain(new).next().map_or(&[][..], |curve| &curve.points);
    for (rtt, ..) in rtts {
        let published = |name: &str| match name {
            "kk_cubic" => print.cubic.iter().find(|it| it.0 == *rtt).map(|it| it.1),
            "r-tcp" => print.lowest.iter().find(|it| it.0 == *rtt).map(|it| it.1),
            _ => None,
        };
        let cell = |curve: &Curve, published: Option<f64>| match (curve.at(*rtt), published) {
            (Some((ours, n)), Some(published)) => Cell::compared(published, ours, n),
            (Some((ours, n)), None) => Cell::ours(ours, n),
            (None, _) => Cell::word("-"),
        };
        let cells = old.iter().map(|curve| {
            let cell = cell(curve, published(&curve.name));
            let chosen = print.lowest.iter().find(|it| it.0 == *rtt && curve.name == "r-tcp");
            match chosen {
                Some((.., name)) => {
                    cell.because(format!("Printed: the lowest of the nine, {name}."))
                }
                None => cell,
            }
        });
        let cells = cells.chain(new.iter().map(|curve| cell(curve, None))).collect();
        table.rows.push(Row::new(rtt.to_string(), cells));
    }
    table
}

fn latency_figure(print: &Print, old: &[Curve], new: &[Curve]) -> Figure {
    let axes = || [Axis::new("RTT, ms", Scale::FromZero), Axis::new("latency, s", Scale::Log)];
    let lowest = print.lowest.iter().map(|(rtt, value, _)| (*rtt, *value));
    let theirs = [
        Series::published("kk_cubic", Form::Curve, print.cubic.iter().copied()),
        Series::published("r-tcp", Form::Curve, lowest),
    ];
    let shown = |curve: &&Curve| ["kk_cubic", "r-tcp"].contains(&curve.name.as_str());
    let panel = |title: &str, series: Vec<Series>| {
        let [x, y] = axes();
        Panel { title: title.into(), x, y, series }
    };
    Figure {
        title: "Latency by RTT at 5 % isolated loss (Fig. 4-26)".into(),
        about: "64 KB every 2 s. Above about 2 s the load does not fit the path, and latency grows with the \
                length of the run. The print of R-TCP is the lowest of the printed tables."
            .into(),
        panels: vec![
            panel(
                "Linux 2.6.33",
                theirs.into_iter().chain(old.iter().filter(shown).map(Curve::series)).collect(),
            ),
            panel("Linux 6", new.iter().map(Curve::series).collect()),
        ],
    }
}

/// How much latency grows from the shortest RTT to the longest.
fn growths(print: &Print, old: &[Curve], new: &[Curve]) -> Vec<Found> {
    let growth = |curves: &[Curve], name: &str| named(curves, name)?.growth();
    let printed = print.lowest.first().zip(print.lowest.last()).map(|(a, b)| b.1 / a.1);
    let (own, cubic) = (growth(old, R_TCP), growth(old, CUBIC));
    let as_printed = own.zip(printed).map(|(own, printed)| {
        let found = Found::new(GROWTH_PRINTED, (own / printed - 1.0).abs(), 1);
        found.word("own", format!("{own:.2}")).word("printed", format!("{printed:.2}"))
    });
    let now = growth(new, "kirikae")
        .zip(growth(new, "cubic"))
        .map(|(own, cubic)| Found::new(GROWTH_NOW, own, 1).word("cubic", format!("{cubic:.0}")));
    let then = own.map(|own| Found::new(GROWTH_THEN, own, 1));
    let cubic = cubic.map(|cubic| Found::new(GROWTH_CUBIC, cubic, 1));
    [then, cubic, as_printed, now].into_iter().flatten().collect()
}

/// What R-TCP is left with of its gain over cubic among the candidates that come down to reno, at the shortest
/// RTT, and what that costs beside all candidates, at each.
fn cost(old: &[Curve]) -> Vec<Found> {
    let all = [RESTRICTED, R_TCP, CUBIC].map(|name| named(old, name));
    let [Some(restricted), Some(all), Some(cubic)] = all else { return Vec::new() };
    let Some(&(shortest, own, n)) = restricted.points.first() else { return Vec::new() };
    let mut found = Vec::new();
    if let (Some(cubic), Some(half)) = (cubic.value(shortest), own.half_width) {
        let below = 100.0 * (1.0 - own.value / cubic);
        let upper = own.value + half;
        let least = Found::new(RESTRICTED_GAIN, 100.0 * (1.0 - upper / cubic), n);
        let least = least.word("rtt", format!("{shortest:.0}"));
        found.push(least.word("below", format!("{below:.1}")));
    }
    for (rtt, own, n) in &restricted.points {
        let Some(all) = all.value(*rtt) else { continue };
        let factor = Found::new(RESTRICTED_COST, own.value / all, *n);
        found.push(factor.word("rtt", format!("{rtt:.0}")));
    }
    found
}
