//! A Snoop agent before a link that loses packets, and a relay that splits the connection there (Oguchi, doctoral
//! thesis, 2016, sections 2.4.1 and 2.4.2.5), beside senders that help themselves: studies/snoop/README.md.

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::{Estimate, mean, ratio_of_means};
use kirikae_scenario::{Controls, Scenario};

use super::wireless::{Runs, average, cell};
use super::{
    Axis, Column, Computed, Figure, Form, Found, Key, Material, Names, Row, Scale, Series, Study,
    Table, simulate, swept,
};

pub(super) const STUDY: Study = Study {
    name: "snoop",
    names: Names {
        published: &[],
        criteria: &[
            HIDES,
            LATENCY,
            LOSSLESS,
            GOODPUT,
            ALONE,
            TOGETHER,
            ISOLATES,
            SPLIT_LATENCY,
            SHORTER,
            SPLIT_LOSSES,
            SPLIT_GOODPUT,
            IN_PLACE,
            OVER_SNOOP,
            KIRIKAE_SPLIT,
            KIRIKAE_SPLIT_BULK,
            GATEWAY,
            GATEWAY_BULK,
        ],
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

const ISOLATES: Key = Key::with("isolates", &["who"]);
const SPLIT_LATENCY: Key = Key::with("split-latency", &["who"]);
const SHORTER: Key = Key::with("shorter", &["who"]);
const SPLIT_LOSSES: Key = Key::with("split-losses", &["who"]);
const SPLIT_GOODPUT: Key = Key::with("split-goodput", &["who"]);
const IN_PLACE: Key = Key::with("in-place", &["loss"]);
const OVER_SNOOP: Key = Key::with("over-snoop", &["who"]);
const KIRIKAE_SPLIT: Key = Key::with("kirikae-split", &["loss"]);
const KIRIKAE_SPLIT_BULK: Key = Key::with("kirikae-split-bulk", &["loss"]);
const GATEWAY: Key = Key::with("gateway", &["loss"]);
const GATEWAY_BULK: Key = Key::with("gateway-bulk", &["loss"]);

const CUBIC: &str = "cubic";
const RENO: &str = "reno";
const KIRIKAE: &str = "kirikae";
/// Whom the agent is to help: what the kernel brings and what losses slow down.
const HELPED: [&str; 2] = [CUBIC, RENO];

/// What stands before the air.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Help {
    Nothing,
    Agent,
    /// With stock cubic on it.
    Relay,
    /// A relay with kirikae on it.
    Gateway,
}

impl Help {
    /// None where a scenario has no place for it.
    fn of(scenario: &Scenario) -> Option<Help> {
        let swept = |name| scenario.swept.get(name).map(String::as_str);
        Some(match (swept("help.snoop")?, swept("help.split")?, swept("help.relay")?) {
            ("none", "none", _) => Help::Nothing,
            (_, "none", _) => Help::Agent,
            (_, _, KIRIKAE) => Help::Gateway,
            _ => Help::Relay,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Help::Nothing => "no help",
            Help::Agent => "agent",
            Help::Relay => "relay",
            Help::Gateway => "relay with kirikae",
        }
    }
}

/// A path, with help or without.
struct Place<'a> {
    loss: f64,
    help: Help,
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
        carried(self.comparison, who)
    }

    /// Segments that the sender sent again, in all runs.
    fn sent_again(&self, who: &str) -> u64 {
        let own = self.comparison.plays.iter().filter(|play| play.contender.name() == who);
        own.map(|play| play.flows[0].retransmissions).sum()
    }

    fn name(&self) -> String {
        format!("{}, {}", percent(self.loss), self.help.name())
    }
}

fn percent(loss: f64) -> String {
    format!("{:.0} % lost", 100.0 * loss)
}

/// Bulk goodput of each run, Mbit/s.
fn carried(comparison: &Comparison, who: &str) -> Vec<f64> {
    let own = comparison.plays.iter().filter(|play| play.contender.name() == who);
    own.filter_map(|play| Some(play.flows[0].goodput? / 1e6)).collect()
}

/// The mean of some runs over that of others with the same seeds, and of how many.
fn over(runs: Vec<f64>, others: Vec<f64>) -> Option<(Estimate, usize)> {
    let pairs: Vec<(f64, f64)> = runs.into_iter().zip(others).collect();
    Some((ratio_of_means(&pairs)?, pairs.len()))
}

/// The paths with bulk, or those with bursts.
fn places(comparisons: &[Comparison], bulk: bool) -> Vec<Place<'_>> {
    let own = comparisons.iter().filter(|it| it.scenario.measured.is_some() == bulk);
    own.filter_map(|comparison| {
        let help = Help::of(&comparison.scenario)?;
        Some(Place { loss: swept(&comparison.scenario, "loss")?, help, comparison })
    })
    .collect()
}

fn at<'a>(places: &'a [Place<'a>], loss: f64, help: Help) -> Option<&'a Place<'a>> {
    places.iter().find(|place| place.loss == loss && place.help == help)
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
    let mut found = of_bursts(&bursts);
    found.extend(of_bulk(&bulk));
    found.extend(in_place(&bulk, &outcome.comparisons));
    Ok(Computed {
        found,
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

fn of_bursts(bursts: &[Place]) -> Vec<Found> {
    let mut found = Vec::new();
    for with in bursts.iter().filter(|place| place.help != Help::Nothing) {
        let of = |loss, help| at(bursts, loss, help);
        let (Some(without), Some(lossless)) =
            (of(with.loss, Help::Nothing), of(0.0, Help::Nothing))
        else {
            continue;
        };
        let word = |it: Found| it.word("loss", percent(with.loss));
        let over = |key, who, other: &Place, whose| {
            let (over, n) = with.latency_over(who, other, whose)?;
            Some(Found::new(key, over.value, n))
        };
        let alone = |key, whose| {
            let (over, n) = without.latency_over(KIRIKAE, with, whose)?;
            Some(word(Found::new(key, over.value, n)))
        };
        for who in HELPED {
            let word = |it: Found| it.word("who", format!("{who}, {}", percent(with.loss)));
            let again = |key| {
                let of = without.sent_again(who);
                word(Found::new(key, with.sent_again(who) as f64 / of as f64, of as usize))
            };
            let upper = |key| {
                let (over, n) = with.latency_over(who, without, who)?;
                let upper = over.value + over.half_width.unwrap_or(f64::INFINITY);
                Some(word(Found::new(key, upper, n)))
            };
            match with.help {
                Help::Agent if with.loss > 0.0 => {
                    found.push(again(HIDES));
                    found.extend(upper(LATENCY));
                    found.extend(over(LOSSLESS, who, lossless, who).map(word));
                }
                Help::Relay if with.loss > 0.0 => {
                    found.push(again(ISOLATES));
                    found.extend(upper(SPLIT_LATENCY));
                    let lossless = of(0.0, Help::Relay);
                    let losses = lossless.and_then(|it| over(SPLIT_LOSSES, who, it, who));
                    found.extend(losses.map(word));
                    let agent = of(with.loss, Help::Agent);
                    let snoop = agent.and_then(|agent| over(OVER_SNOOP, who, agent, who));
                    found.extend(snoop.map(word));
                }
                Help::Relay => {
                    let shorter = over(SHORTER, who, without, who);
                    found.extend(shorter.map(|it| it.word("who", who)));
                }
                Help::Nothing | Help::Agent | Help::Gateway => {}
            }
        }
        if with.loss == 0.0 {
            continue;
        }
        match with.help {
            Help::Agent => {
                found.extend(alone(ALONE, RENO));
                found.extend(over(TOGETHER, KIRIKAE, without, KIRIKAE).map(word));
            }
            Help::Relay => found.extend(alone(KIRIKAE_SPLIT, CUBIC)),
            Help::Gateway => {
                let relay = of(with.loss, Help::Relay);
                let gateway = relay.and_then(|relay| over(GATEWAY, CUBIC, relay, CUBIC));
                found.extend(gateway.map(word));
            }
            Help::Nothing => {}
        }
    }
    found
}

fn of_bulk(bulk: &[Place]) -> Vec<Found> {
    let mut found = Vec::new();
    for with in bulk.iter().filter(|place| place.loss > 0.0) {
        let of = |loss, help, who| at(bulk, loss, help).map(|place| place.carried(who));
        let over = |who, others: Option<Vec<f64>>| over(with.carried(who), others?);
        let word = |it: Found| it.word("loss", percent(with.loss));
        let key = match with.help {
            Help::Agent => Some(GOODPUT),
            Help::Relay => Some(SPLIT_GOODPUT),
            Help::Nothing | Help::Gateway => None,
        };
        for (key, who) in key.into_iter().flat_map(|key| HELPED.map(|who| (key, who))) {
            let word = format!("{who}, {}", percent(with.loss));
            let lossless = over(who, of(0.0, Help::Nothing, who));
            found
                .extend(lossless.map(|(over, n)| Found::new(key, over.value, n).word("who", word)));
        }
        let (key, who) = match with.help {
            Help::Nothing => (KIRIKAE_SPLIT_BULK, KIRIKAE),
            Help::Gateway => (GATEWAY_BULK, CUBIC),
            Help::Agent | Help::Relay => continue,
        };
        let relay = over(who, of(with.loss, Help::Relay, CUBIC));
        found.extend(relay.map(|(over, n)| word(Found::new(key, over.value, n))));
    }
    found
}

/// Bulk through the relay, over that of a sender in the relay's place.
fn in_place(bulk: &[Place], comparisons: &[Comparison]) -> Vec<Found> {
    let alone = |loss| {
        let mut own = comparisons.iter().filter(|it| Help::of(&it.scenario).is_none());
        own.find(|it| swept(&it.scenario, "loss") == Some(loss))
    };
    let relays = bulk.iter().filter(|place| place.help == Help::Relay && place.loss > 0.0);
    let each = relays.filter_map(|place| {
        let (over, n) = over(place.carried(CUBIC), carried(alone(place.loss)?, CUBIC))?;
        Some(Found::new(IN_PLACE, over.value, n).word("loss", percent(place.loss)))
    });
    each.collect()
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

/// A curve for each contender without help, and for each that is to be helped with it.
fn figure(
    title: &str,
    what: &str,
    places: &[Place],
    of: impl Fn(&Place, &str) -> (Option<Estimate>, usize),
) -> Figure {
    let curve = |who: &'static str, help: Help| {
        let own = places.iter().filter(|place| place.help == help);
        let points = own.filter_map(|place| Some((100.0 * place.loss, of(place, who).0?)));
        let name = match help {
            Help::Nothing => who.to_owned(),
            _ => format!("{who}, {}", help.name()),
        };
        Series::ours(name, Form::Curve, points)
    };
    let mut series: Vec<Series> =
        contenders(places).into_iter().map(|who| curve(who, Help::Nothing)).collect();
    for help in [Help::Agent, Help::Relay] {
        series.extend(HELPED.map(|who| curve(who, help)));
    }
    Figure::single(
        title,
        "Everyone without help, and with an agent and with a relay those that losses slow down.",
        [Axis::new("lost by the air, %", Scale::FromZero), Axis::new(what, Scale::FromZero)],
        series,
    )
}
