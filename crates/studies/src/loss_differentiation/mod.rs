//! Rules that tell losses of a wireless hop from others (Oguchi, doctoral thesis, 2016, section 2.3.1), beside what
//! Kirikae believes: studies/loss-differentiation/README.md.

mod verdicts;

use std::ops::AddAssign;

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::{Estimate, mean, ratio_of_means};
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim;

use super::wireless::{Course, average, cell};
use super::{
    Axis, Cell, Column, Computed, Figure, Form, Found, Key, Material, Names, Panel, Row, Scale,
    Series, Study, Table, simulate, swept,
};
use verdicts::{Tally, Verdicts};

pub(super) const STUDY: Study = Study {
    name: "loss-differentiation",
    names: Names {
        published: &[],
        criteria: &[RIGHT, RIGHT_BELIEF, OVER_BELIEF, HELPS, OVERFLOW, OVER_KIRIKAE, BULK, LEAVES],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

/// How often a rule is right, of both kinds of losses alike.
const RIGHT: Key = Key::with("right", &["rule"]);
const RIGHT_BELIEF: Key = Key::new("right-belief");
const OVER_BELIEF: Key = Key::with("over-belief", &["rule"]);
/// Latency over reno's, where the channel alone loses: the upper end of its interval.
const HELPS: Key = Key::with("helps", &["rule"]);
/// How far it is from reno's where the queue overflows and nothing else is lost.
const OVERFLOW: Key = Key::with("overflow", &["rule"]);
const OVER_KIRIKAE: Key = Key::with("over-kirikae", &["rule"]);
/// What a bulk flow carries over reno's, where the channel alone loses.
const BULK: Key = Key::with("bulk", &["rule"]);
/// What reno keeps beside a rule, of what it has beside reno.
const LEAVES: Key = Key::with("leaves", &["rule"]);

/// From this share of losses on a bulk flow of reno does not fill the queue.
const MANY: f64 = 0.01;

const RENO: &str = "reno";
const KIRIKAE: &str = "kirikae";
const RULES: [&str; 3] = ["bias", "spike", "zigzag"];
/// Who contends and always takes losses for the queue's, so that there is nothing to tell.
const STEADFAST: [&str; 3] = ["cubic", RENO, "kk_reno"];

/// What a scenario loads its path with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Bursts,
    Bulk,
    Beside,
}

impl Load {
    fn of(scenario: &Scenario) -> Load {
        match (scenario.timed().is_some(), scenario.flows.len()) {
            (true, _) => Load::Bursts,
            (false, 1) => Load::Bulk,
            (false, _) => Load::Beside,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Load::Bursts => "bursts",
            Load::Bulk => "bulk",
            Load::Beside => "beside reno",
        }
    }
}

/// A path, and what is sent over it.
#[derive(Clone, Debug)]
struct Place {
    load: Load,
    /// Share of the packets that the channel loses.
    loss: f64,
    /// Whether the queue overflows, by others or by the flow itself.
    overflows: bool,
}

impl Place {
    fn of(scenario: &Scenario) -> Option<Place> {
        let (load, loss) = (Load::of(scenario), swept(scenario, "loss")?);
        let others = swept(scenario, "cross");
        // Where nobody else sends, a bulk flow overflows the queue unless losses keep it from it.
        let overflows = others.map_or(loss < MANY, |rate| rate > 1.0);
        Some(Place { load, loss, overflows })
    }

    fn name(&self) -> String {
        let losses = match (self.loss > 0.0, self.overflows) {
            (false, false) => "no losses".to_owned(),
            (false, true) => "overflows".to_owned(),
            (true, false) => format!("{:.1} % lost", 100.0 * self.loss),
            (true, true) => format!("{:.1} % lost and overflows", 100.0 * self.loss),
        };
        format!("{}, {losses}", self.load.name())
    }
}

fn compute(material: &Material) -> Result<Computed, Error> {
    let outcome = simulate(&material.scenarios, Controls::default())?;
    let judged = judge(&material.scenarios)?;
    let mut found = verdicts_found(&judged);
    found.extend(results_found(&outcome.comparisons));
    Ok(Computed {
        found,
        tables: vec![
            verdicts_table(&judged, 0),
            verdicts_table(&judged, 1),
            latencies(&outcome.comparisons),
            goodputs(&outcome.comparisons),
        ],
        figures: vec![
            verdicts_figure(&judged),
            latencies_figure(&outcome.comparisons),
            beside_figure(&outcome.comparisons),
        ],
    })
}

/// The verdicts of a contender on a path, in each repetition; the belief counts as one.
struct Judged {
    place: Place,
    who: &'static str,
    tallies: Vec<Tally>,
}

/// What the belief is called among contenders, and the lengths of runs, told from what reno loses.
const BELIEF: &str = "kirikae's belief";
const RUNS: &str = "runs of losses";

fn judge(scenarios: &[Scenario]) -> Result<Vec<Judged>, Error> {
    let alone = |it: &&Scenario| Load::of(it) != Load::Beside;
    let alone: Vec<Scenario> = scenarios.iter().filter(alone).cloned().collect();
    let watched = sim::watch(&alone, &Controls::default(), Verdicts::new, |it, _| it)?;
    let mut watched = watched.into_iter();
    let mut judged = Vec::new();
    for scenario in &alone {
        let Some(place) = Place::of(scenario) else { continue };
        let mut of_runs = Vec::new();
        for contender in &scenario.contenders {
            let own: Vec<Verdicts> = watched.by_ref().take(scenario.repetitions as usize).collect();
            let (who, tallies) = match contender.name() {
                KIRIKAE => (BELIEF, own.iter().map(|it| it.by_belief).collect()),
                RENO => {
                    of_runs = own.iter().map(|it| it.by_runs).collect();
                    continue;
                }
                name if STEADFAST.contains(&name) => continue,
                name => (name, own.iter().map(|it| it.by_window).collect()),
            };
            judged.push(Judged { place: place.clone(), who, tallies });
        }
        judged.push(Judged { place, who: RUNS, tallies: of_runs });
    }
    Ok(judged)
}

/// Who is judged, in the order of the scenarios.
fn judges(judged: &[Judged]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for own in judged {
        if !names.contains(&own.who) {
            names.push(own.who);
        }
    }
    names
}

/// What a recovery may be for.
const KINDS: [&str; 2] =
    ["Losses of the channel", "Drops of the queue, alone or beside losses of the channel"];

/// All verdicts on the same load, path by path, summed up repetition by repetition.
fn pooled(judged: &[Judged], load: Load, who: &str) -> Vec<Tally> {
    let mut pooled: Vec<Tally> = Vec::new();
    for own in judged.iter().filter(|own| own.place.load == load && own.who == who) {
        pooled.resize(pooled.len().max(own.tallies.len()), Tally::default());
        pooled.iter_mut().zip(&own.tallies).for_each(|(to, tally)| to.add_assign(*tally));
    }
    pooled
}

/// The mean of both shares over the repetitions.
fn balanced(tallies: &[Tally]) -> Option<Estimate> {
    mean(&tallies.iter().filter_map(Tally::balanced).collect::<Vec<_>>())
}

/// A share of each repetition: 0 of the channel's losses, 1 of the queue's.
fn share(tallies: &[Tally], kind: usize) -> Option<Estimate> {
    mean(&tallies.iter().filter_map(|tally| tally.shares()[kind]).collect::<Vec<_>>())
}

fn recoveries(tallies: &[Tally]) -> usize {
    tallies.iter().map(|tally| (tally.channel.0 + tally.queue.0) as usize).sum()
}

/// The share taken for what they were, of the losses of a kind: 0 the channel's, 1 the queue's.
fn verdicts_table(judged: &[Judged], kind: usize) -> Table {
    let names = judges(judged);
    let columns = names.iter().map(|who| Column::new(*who, 2));
    let title = format!("{}: share of recoveries that were taken for that", KINDS[kind]);
    let mut table = Table::new(title, "path", columns);
    let own = |tallies: &[Tally]| {
        let of = |it: &Tally| [it.channel.0, it.queue.0][kind] as usize;
        cell(share(tallies, kind), tallies.iter().map(of).sum())
    };
    for path in judged.chunk_by(|a, b| a.place.name() == b.place.name()) {
        let cells = path.iter().map(|it| own(&it.tallies));
        table.rows.push(Row::new(path[0].place.name(), cells.collect()));
    }
    for load in [Load::Bursts, Load::Bulk] {
        let cells = names.iter().map(|who| own(&pooled(judged, load, who)));
        table.rows.push(Row::new(format!("{}, all paths", load.name()), cells.collect()));
    }
    table
}

fn verdicts_found(judged: &[Judged]) -> Vec<Found> {
    let mut found = Vec::new();
    let belief = pooled(judged, Load::Bursts, BELIEF);
    for rule in RULES {
        for load in [Load::Bursts, Load::Bulk] {
            let tallies = pooled(judged, load, rule);
            let Some(right) = balanced(&tallies) else { continue };
            let of = Found::new(RIGHT, right.value, recoveries(&tallies));
            found.push(of.word("rule", format!("{rule}, {}", load.name())));
        }
        let own = pooled(judged, Load::Bursts, rule);
        if let (Some(right), Some(believed)) = (balanced(&own), balanced(&belief)) {
            let over = Found::new(OVER_BELIEF, right.value - believed.value, recoveries(&own));
            found.push(over.word("rule", rule));
        }
    }
    found.extend(
        balanced(&belief).map(|it| Found::new(RIGHT_BELIEF, it.value, recoveries(&belief))),
    );
    found
}

/// The comparisons of a load, with their paths.
fn of_load(comparisons: &[Comparison], load: Load) -> Vec<(Place, &Comparison)> {
    let places = comparisons.iter().filter_map(|it| Some((Place::of(&it.scenario)?, it)));
    places.filter(|(place, _)| place.load == load).collect()
}

/// Mean latency over another's, paired by run.
fn latency_over(comparison: &Comparison, who: &str, other: &str) -> Option<(Estimate, usize)> {
    let own = Course::of(comparison, who)?.latencies();
    let over = own.over(&Course::of(comparison, other)?.latencies(), average)?;
    Some((over, own.n()))
}

/// What a flow carried in each repetition, Mbit/s.
fn carried(comparison: &Comparison, who: &str, flow: usize) -> Vec<f64> {
    let own = comparison.plays.iter().filter(|play| play.contender.name() == who);
    own.filter_map(|play| Some(play.flows[flow].goodput? / 1e6)).collect()
}

/// What a flow carried over what it carries where another contends, paired by run.
fn carried_over(comparison: &Comparison, who: &str, other: &str, flow: usize) -> Option<Estimate> {
    let (own, other) = (carried(comparison, who, flow), carried(comparison, other, flow));
    ratio_of_means(&own.into_iter().zip(other).collect::<Vec<_>>())
}

fn results_found(comparisons: &[Comparison]) -> Vec<Found> {
    let mut found = Vec::new();
    for rule in RULES {
        let named = |key, value, n, place: &Place| {
            let word = format!("{rule}, {}", place.name());
            Found::new(key, value, n).word("rule", word)
        };
        for (place, comparison) in of_load(comparisons, Load::Bursts) {
            if let Some((over, n)) = latency_over(comparison, rule, RENO) {
                let upper = over.value + over.half_width.unwrap_or(f64::INFINITY);
                let off = (over.value - 1.0).abs();
                found.extend(
                    (place.loss > 0.0 && !place.overflows).then(|| named(HELPS, upper, n, &place)),
                );
                found.extend(
                    (place.loss == 0.0 && place.overflows).then(|| named(OVERFLOW, off, n, &place)),
                );
            }
            let lossy = place.loss > 0.0 || place.overflows;
            let over = latency_over(comparison, rule, KIRIKAE).filter(|_| lossy);
            found.extend(over.map(|(over, n)| named(OVER_KIRIKAE, over.value, n, &place)));
        }
        let bulk = of_load(comparisons, Load::Bulk);
        let most = bulk.into_iter().max_by(|(a, _), (b, _)| a.loss.total_cmp(&b.loss));
        found.extend(most.and_then(|(place, comparison)| {
            let over = carried_over(comparison, rule, RENO, 0)?;
            Some(named(BULK, over.value, carried(comparison, rule, 0).len(), &place))
        }));
        for (place, comparison) in of_load(comparisons, Load::Beside) {
            let left = carried_over(comparison, rule, RENO, 1);
            let n = carried(comparison, rule, 1).len();
            found.extend(left.map(|left| named(LEAVES, left.value, n, &place)));
        }
    }
    found
}

/// The contenders of the first of these comparisons.
fn contenders(of: &[(Place, &Comparison)]) -> Vec<&'static str> {
    let first = of.first().map(|(_, comparison)| &comparison.scenario.contenders);
    first.into_iter().flatten().map(|contender| contender.name()).collect()
}

fn latencies(comparisons: &[Comparison]) -> Table {
    let bursts = of_load(comparisons, Load::Bursts);
    let names = contenders(&bursts);
    let columns = names.iter().map(|name| Column::new(*name, 2));
    let title = "Bursts: mean latency over the lower bound";
    let mut table = Table::new(title, "path", columns);
    for (place, comparison) in &bursts {
        let of = |name: &&str| {
            let course = Course::of(comparison, name);
            let n = course.as_ref().map_or(0, |own| own.latencies().n());
            cell(course.and_then(|own| own.over_bound()), n)
        };
        table.rows.push(Row::new(place.name(), names.iter().map(of).collect()));
    }
    table
}

fn goodputs(comparisons: &[Comparison]) -> Table {
    let bulk = of_load(comparisons, Load::Bulk);
    let names = contenders(&bulk);
    let columns = names.iter().map(|name| Column::new(*name, 2));
    let mut table = Table::new("Bulk: goodput, Mbit/s", "path", columns);
    let cells = |comparison: &Comparison, flow: usize| -> Vec<Cell> {
        let of = |name: &&str| {
            let each = carried(comparison, name, flow);
            cell(mean(&each), each.len())
        };
        names.iter().map(of).collect()
    };
    for (place, comparison) in &bulk {
        table.rows.push(Row::new(place.name(), cells(comparison, 0)));
    }
    for (place, comparison) in &of_load(comparisons, Load::Beside) {
        for (flow, whose) in ["its own", "reno's"].into_iter().enumerate() {
            let heading = format!("{}: {whose}", place.name());
            table.rows.push(Row::new(heading, cells(comparison, flow)));
        }
    }
    table
}

fn names_of(names: &[&'static str]) -> Axis {
    Axis::new("", Scale::Names(names.iter().map(|name| (*name).to_owned()).collect()))
}

fn bars(
    name: impl Into<String>,
    names: &[&'static str],
    of: impl Fn(&'static str) -> Option<Estimate>,
) -> Series {
    let points = names.iter().enumerate();
    let points = points.filter_map(|(at, name)| Some((at as f64, of(name)?)));
    Series::ours(name, Form::Bars, points)
}

fn verdicts_figure(judged: &[Judged]) -> Figure {
    let names = judges(judged);
    let panel = |load: Load| {
        let of = |kind, what| bars(what, &names, |who| share(&pooled(judged, load, who), kind));
        Panel {
            title: load.name().to_owned(),
            x: names_of(&names),
            y: Axis::new("share taken for what they were", Scale::Between(0.0, 1.0)),
            series: vec![of(0, "losses of the channel"), of(1, "drops of the queue")],
        }
    };
    Figure {
        title: "Recoveries that were taken for what they were for".into(),
        about: "Whoever always reduces the window has 0 beside 1. The belief's verdict is whether the channel is \
                likelier than not to lose a packet in 1000."
            .into(),
        panels: [Load::Bursts, Load::Bulk].map(panel).into(),
    }
}

/// Of each contender, on each path.
fn by_path(
    of: &[(Place, &Comparison)],
    names: &[&'static str],
    value: impl Fn(&Comparison, &str) -> Option<Estimate>,
) -> Vec<Series> {
    let each = of.iter().filter(|(place, _)| place.loss > 0.0 || place.overflows);
    each.map(|(place, comparison)| bars(place.name(), names, |name| value(comparison, name)))
        .collect()
}

fn latencies_figure(comparisons: &[Comparison]) -> Figure {
    let bursts = of_load(comparisons, Load::Bursts);
    let names = contenders(&bursts);
    let over = |comparison: &Comparison, name: &str| Course::of(comparison, name)?.over_bound();
    Figure::single(
        "Latency of bursts over the lower bound",
        "What the channel loses and what the queue drops, alone and together.",
        [names_of(&names), Axis::new("mean latency over the lower bound", Scale::FromZero)],
        by_path(&bursts, &names, over),
    )
}

fn beside_figure(comparisons: &[Comparison]) -> Figure {
    let beside = of_load(comparisons, Load::Beside);
    let names = contenders(&beside);
    let left = |comparison: &Comparison, name: &str| carried_over(comparison, name, RENO, 1);
    Figure::single(
        "What a reno flow carries beside each, over what it carries beside another reno",
        "Below 1 it is harmed.",
        [names_of(&names), Axis::new("share", Scale::FromZero)],
        by_path(&beside, &names, left),
    )
}
