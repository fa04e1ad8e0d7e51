//! A Snoop agent before a link that loses packets (Oguchi, doctoral thesis, 2016, section 2.4.1), beside senders that
//! help themselves: studies/snoop/README.md.

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::{Estimate, mean, ratio_of_means};
use kirikae_scenario::Controls;

use super::wireless::{Runs, average, cell};
use super::{
    Axis, Column, Computed, Figure, Form, Found, Key, Material, Names, Row, Scale, Series, Study,
    Table, simulate, swept,
};

pub(super) const STUDY: Study = Study {
    name: "snoop",
    names: Names {
        published: &[],
        criteria: &[HIDES, LATENCY, LOSSLESS, GOODPUT, ALONE, TOGETHER],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

const HIDES: Key = Key::with("hides", &["who"]);
const LATENCY: Key = Key::with("latency", &["who"]);
const LOSSLESS: Key = Key::with("lossless", &["who"]);
const GOODPUT: Key = Key::with("goodput", &["who"]);
const ALONE: Key = Key::with("kirikae", &["loss"]);
const TOGETHER: Key = Key::with("together", &["loss"]);

const RENO: &str = "reno";
const KIRIKAE: &str = "kirikae";
/// Whom the agent is to help: what the kernel brings and what losses slow down.
const HELPED: [&str; 2] = ["cubic", RENO];

/// A path, with the agent or without.
struct Place<'a> {
    loss: f64,
    agent: bool,
    comparison: &'a Comparison,
}

impl Place<'_> {
    /// Of each burst, run by run, seconds.
    fn latencies(&self, who: &str) -> Runs {
        let own = self.comparison.plays.iter().filter(|play| play.contender.name() == who);
        Runs::new(own.map(|play| play.flows[0].latencies_s.clone()).collect())
    }

    fn latency_over(&self, who: &str, other: &Place, whose: &str) -> Option<(Estimate, usize)> {
        let own = self.latencies(who);
        Some((own.over(&other.latencies(whose), average)?, own.n()))
    }

    /// Of each run.
    fn carried(&self, who: &str) -> Vec<f64> {
        let own = self.comparison.plays.iter().filter(|play| play.contender.name() == who);
        own.filter_map(|play| Some(play.flows[0].goodput? / 1e6)).collect()
    }

    /// Segments that the sender sent again, in all runs.
    fn sent_again(&self, who: &str) -> u64 {
        let own = self.comparison.plays.iter().filter(|play| play.contender.name() == who);
        own.map(|play| play.flows[0].retransmissions).sum()
    }

    fn name(&self) -> String {
        let agent = if self.agent { "agent" } else { "no agent" };
        format!("{}, {agent}", percent(self.loss))
    }
}

fn percent(loss: f64) -> String {
    format!("{:.0} % lost", 100.0 * loss)
}

/// The paths with bulk, or those with bursts.
fn places(comparisons: &[Comparison], bulk: bool) -> Vec<Place<'_>> {
    let own = comparisons.iter().filter(|it| it.scenario.measured.is_some() == bulk);
    own.filter_map(|comparison| {
        let scenario = &comparison.scenario;
        let agent = scenario.swept.get("agent")? != "none";
        Some(Place { loss: swept(scenario, "loss")?, agent, comparison })
    })
    .collect()
}

fn at<'a>(places: &'a [Place<'a>], loss: f64, agent: bool) -> Option<&'a Place<'a>> {
    places.iter().find(|place| place.loss == loss && place.agent == agent)
}

fn compute(material: &Material) -> Result<Computed, Error> {
    let outcome = simulate(&material.scenarios, Controls::default())?;
    let bursts = places(&outcome.comparisons, false);
    let bulk = places(&outcome.comparisons, true);
    let latency = |place: &Place, who: &str| {
        let own = place.latencies(who);
        (own.each(average), own.n())
    };
    let goodput = |place: &Place, who: &str| {
        let carried = place.carried(who);
        (mean(&carried), carried.len())
    };
    Ok(Computed {
        found: found(&bursts, &bulk),
        tables: vec![
            table("Bursts: mean latency, s", &bursts, latency),
            table(
                "Bursts: segments that the sender sent again, in all runs",
                &bursts,
                |place, who| {
                    let again = place.sent_again(who) as f64;
                    (Some(Estimate { value: again, half_width: None }), 1)
                },
            ),
            table("Bulk: goodput, Mbit/s", &bulk, goodput),
        ],
        figures: vec![
            figure("Latency of bursts by loss", "mean latency, s", &bursts, latency),
            figure("Bulk goodput by loss", "goodput, Mbit/s", &bulk, goodput),
        ],
    })
}

fn found(bursts: &[Place], bulk: &[Place]) -> Vec<Found> {
    let mut found = Vec::new();
    for with in bursts.iter().filter(|place| place.agent && place.loss > 0.0) {
        let (Some(without), Some(lossless)) =
            (at(bursts, with.loss, false), at(bursts, 0.0, false))
        else {
            continue;
        };
        for who in HELPED {
            let word = |it: Found| it.word("who", format!("{who}, {}", percent(with.loss)));
            let of = without.sent_again(who);
            let hidden = with.sent_again(who) as f64 / of as f64;
            found.push(word(Found::new(HIDES, hidden, of as usize)));
            if let Some((over, n)) = with.latency_over(who, without, who) {
                let upper = over.value + over.half_width.unwrap_or(f64::INFINITY);
                found.push(word(Found::new(LATENCY, upper, n)));
            }
            let over = with.latency_over(who, lossless, who);
            found.extend(over.map(|(over, n)| word(Found::new(LOSSLESS, over.value, n))));
        }
        let word = |it: Found| it.word("loss", percent(with.loss));
        let alone = without.latency_over(KIRIKAE, with, RENO);
        found.extend(alone.map(|(over, n)| word(Found::new(ALONE, over.value, n))));
        let together = with.latency_over(KIRIKAE, without, KIRIKAE);
        found.extend(together.map(|(over, n)| word(Found::new(TOGETHER, over.value, n))));
    }
    for with in bulk.iter().filter(|place| place.agent && place.loss > 0.0) {
        for who in HELPED {
            let lossless = at(bulk, 0.0, false).map(|place| place.carried(who));
            let pairs = with.carried(who).into_iter().zip(lossless.unwrap_or_default());
            let pairs: Vec<(f64, f64)> = pairs.collect();
            found.extend(ratio_of_means(&pairs).map(|over| {
                let word = format!("{who}, {}", percent(with.loss));
                Found::new(GOODPUT, over.value, pairs.len()).word("who", word)
            }));
        }
    }
    found
}

fn contenders(places: &[Place]) -> Vec<&'static str> {
    let first = places.first().map(|place| &place.comparison.scenario.contenders);
    first.into_iter().flatten().map(|contender| contender.name()).collect()
}

/// A row for each path, a column for each contender; the values with of how many they are.
fn table(
    title: &str,
    places: &[Place],
    of: impl Fn(&Place, &str) -> (Option<Estimate>, usize),
) -> Table {
    let names = contenders(places);
    let mut table = Table::new(title, "path", names.iter().map(|name| Column::new(*name, 2)));
    for place in places {
        let cells = names.iter().map(|who| {
            let (value, n) = of(place, who);
            cell(value, n)
        });
        table.rows.push(Row::new(place.name(), cells.collect()));
    }
    table
}

/// A curve for each contender without the agent, and for each that it is to help with it.
fn figure(
    title: &str,
    what: &str,
    places: &[Place],
    of: impl Fn(&Place, &str) -> (Option<Estimate>, usize),
) -> Figure {
    let curve = |who: &'static str, agent: bool| {
        let own = places.iter().filter(|place| place.agent == agent);
        let points = own.filter_map(|place| Some((100.0 * place.loss, of(place, who).0?)));
        let name = if agent { format!("{who}, agent") } else { who.to_owned() };
        Series::ours(name, Form::Curve, points)
    };
    let mut series: Vec<Series> =
        contenders(places).into_iter().map(|who| curve(who, false)).collect();
    series.extend(HELPED.map(|who| curve(who, true)));
    Figure::single(
        title,
        "Everyone without the agent, and with it those that losses slow down.",
        [Axis::new("lost by the air, %", Scale::FromZero), Axis::new(what, Scale::FromZero)],
        series,
    )
}
