//! R-TCP over LTE (Oguchi, doctoral thesis, 2016, chapter 6), rebuilt: studies/thesis-lte/README.md.

use kirikae_path::{Span, Time};
use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::{Estimate, mean};
use kirikae_scenario::{Scenario, Workload};
use kirikae_sim::{FlowOutcome, Written};
use kirikae_simlab::sim;

use super::watch::{FlowWatch, PathWatch};
use super::wireless::{
    self, BELOW_CUBIC, CUBIC, KIRIKAE, OVER_BBR, OVER_BOUND, R_TCP, Runs, THEN, average, beside,
    cell, deviation, one,
};
use super::{
    Axis, Column, Computed, Figure, Form, Found, Key, Material, Names, Panel, Published,
    PublishedRow, Row, Scale, Series, Study, Table,
};

pub(super) const STUDY: Study = Study {
    name: "thesis-lte",
    names: Names {
        published: &["field.csv", "equivalent.csv"],
        criteria: &[CUBIC_RTT, CUBIC_LATENCY, IMPROVEMENT, OVER_BOUND, BELOW_CUBIC, OVER_BBR],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

const CUBIC_RTT: Key = Key::with("cubic-rtt", &["environment"]);
const CUBIC_LATENCY: Key = Key::with("cubic-latency", &["environment"]);
const IMPROVEMENT: Key = Key::with("improvement", &["environment"]);

/// The environments as the printed numbers call them, the thesis' figures of what came of each, and that of
/// the algorithm in use.
const ENVIRONMENTS: [(&str, &str, &str); 4] = [
    ("indoor_low_use", "6-3, 6-4, 6-6, 6-7", "6-5"),
    ("indoor_high_use", "6-8, 6-9, 6-11", "6-10"),
    ("train_low_use", "6-12, 6-14, 6-15, 6-16", "6-13"),
    ("train_high_use", "6-17, 6-19, 6-20, 6-21", "6-18"),
];
/// How much the mean opinion falls with a millisecond of RTT: from 4.5 at 0 to 2 at 500 ms (section 6.4.4).
const OPINION_PER_MS: f64 = (4.5 - 2.0) / 500.0;
/// A response is in time where the latency and half an RTT are less (section 6.3.1), seconds.
const IN_TIME_S: f64 = 1.0;
const HYBLA: &str = "kk_hybla";
/// How much of a run is drawn, seconds.
const DRAWN_S: f64 = 300.0;
/// And of what is sent in each second.
const SENT_S: f64 = 40.0;

fn compute(material: &Material) -> Result<Computed, Error> {
    let (field, equivalent) = (material.printed("field.csv"), material.printed("equivalent.csv"));
    let (alone, together): (Vec<Scenario>, Vec<Scenario>) =
        material.scenarios.iter().cloned().partition(|scenario| scenario.timed().is_some());
    let (then, now): (Vec<Scenario>, Vec<Scenario>) =
        together.into_iter().partition(|scenario| scenario.stack.name == THEN);
    let (places, today) = (places(&then)?, places(&now)?);
    let mut tables = vec![
        statistics(&places, field)?,
        improvements(&places, &today, equivalent)?,
        equivalents(&places, equivalent)?,
    ];
    let (mut found, mut figures) = (Vec::new(), Vec::new());
    for place in &places {
        found.extend(place.found(field, equivalent)?);
        figures.extend(place.figures());
    }
    let comparisons = wireless::play(&alone)?;
    let paths = comparisons.iter().map(|it| (swept(&it.scenario, "environment.name"), it));
    let paths: Vec<(&str, &Comparison)> = paths.collect();
    found.extend(wireless::today(&paths, &material.definition));
    tables.extend([wireless::then_and_now(&paths), wireless::everyone(&paths)]);
    Ok(Computed { found, tables, figures })
}

fn swept<'a>(scenario: &'a Scenario, name: &str) -> &'a str {
    scenario.swept.get(name).map_or("", String::as_str)
}

/// An environment, where a connection with cubic and another share the link.
struct Place<'a> {
    /// As the printed numbers call it, and as people do.
    key: &'a str,
    name: &'a str,
    /// The thesis' figures of what came of it, and that of the algorithm in use.
    shown: &'static str,
    algorithm: &'static str,
    /// Who the other connection has; with each, what came of cubic and of it.
    pairs: Vec<(&'static str, [Side; 2])>,
}

/// What came of a connection.
struct Side {
    /// The smoothed round-trip time as it was noted, seconds.
    rtt: Runs,
    /// From the first byte of a burst to the last, at the receiver, seconds.
    latency: Runs,
    /// Share of the bursts that were in time.
    in_time: Option<Estimate>,
    /// What arrived while there was a burst every interval, megabytes.
    megabytes: Option<Estimate>,
    /// The first run: what was seen of it, and what it wrote and whom it switched to.
    seen: FlowWatch,
    outcome: FlowOutcome,
}

/// Each environment with each contender, simulated; all on the same hosts.
fn places(scenarios: &[Scenario]) -> Result<Vec<Place<'_>>, Error> {
    let Some(first) = scenarios.first() else { return Ok(Vec::new()) };
    let controls = wireless::controls(first.stack.name);
    let runs = sim::watch(scenarios, &controls, PathWatch::default, |watch, outcome| {
        (watch.flows, outcome.flows)
    })?;
    let mut runs = runs.into_iter();
    let mut places = Vec::new();
    for scenario in scenarios {
        let mut pairs = Vec::new();
        for contender in &scenario.contenders {
            let own = runs.by_ref().take(scenario.repetitions as usize);
            let (seen, outcomes): (Vec<Vec<FlowWatch>>, Vec<Vec<FlowOutcome>>) = own.unzip();
            let side = |flow| Side::new(scenario, flow, &seen, &outcomes);
            let (Some(cubic), Some(other)) = (side(0), side(1)) else { continue };
            pairs.push((contender.name(), [cubic, other]));
        }
        let (key, name) = (swept(scenario, "environment.key"), swept(scenario, "environment.name"));
        let known = ENVIRONMENTS.into_iter().find(|(known, ..)| *known == key);
        let (_, shown, algorithm) = known.ok_or_else(|| {
            let allowed = ENVIRONMENTS.map(|(known, ..)| known).join(", ");
            let file = scenario.file.display();
            Error::Incompatible(format!(
                "{file}: no environment is called {key}; allowed: {allowed}"
            ))
        })?;
        places.push(Place { key, name, shown, algorithm, pairs });
    }
    Ok(places)
}

impl Place<'_> {
    fn pair(&self, contender: &str) -> Option<&[Side; 2]> {
        self.pairs.iter().find(|(name, _)| *name == contender).map(|(_, sides)| sides)
    }

    /// Cubic beside print, and how much R-TCP is below it beside how much it is in print.
    fn found(&self, field: &Published, equivalent: &Published) -> Result<Vec<Found>, Error> {
        let Some([cubic, r_tcp]) = self.pair(R_TCP) else { return Ok(Vec::new()) };
        let beside = |column| number(row(field, self.key, Some("cubic"))?, column);
        let off = |found: Option<Estimate>, printed: Option<f64>| {
            Some((found?.value / printed? - 1.0).abs())
        };
        let rtt = off(scaled(cubic.rtt.each(average), 1e3), beside("mean_rtt_ms")?);
        let latency = off(cubic.latency.each(average), beside("mean_latency_s")?);
        let printed = number(row(equivalent, self.key, None)?, "improvement_percent")?;
        let below = r_tcp.latency.below(&cubic.latency, average);
        let points = below.zip(printed).map(|(below, printed)| (below.value - printed).abs());
        let found = |(key, value): (Key, Option<f64>)| {
            Some(Found::new(key, value?, cubic.latency.n()).word("environment", self.name))
        };
        let all = [(CUBIC_RTT, rtt), (CUBIC_LATENCY, latency), (IMPROVEMENT, points)];
        Ok(all.into_iter().filter_map(found).collect())
    }

    fn figures(&self) -> Vec<Figure> {
        let Some(sides) = self.pair(R_TCP) else { return Vec::new() };
        let panel = |title: &str, y: &str, end_s: f64, of: &dyn Fn(&Side) -> Vec<(f64, f64)>| {
            let series = |(side, name): (&Side, &str)| {
                let points = of(side).into_iter().filter(|(at, _)| *at < end_s);
                Series::ours(name, Form::Line, points.map(|(at, y)| (at, one(y))))
            };
            Panel {
                title: title.into(),
                x: Axis::new("time, s", Scale::Between(0.0, end_s)),
                y: Axis::new(y, Scale::FromZero),
                series: sides.iter().zip([CUBIC, R_TCP]).map(series).collect(),
            }
        };
        let latencies = |side: &Side| {
            let writes = side.outcome.client.iter();
            writes
                .filter_map(|it| Some((seconds(it.start), it.first_to_last()?.as_secs_f64())))
                .collect()
        };
        let sent = |side: &Side| {
            let seconds = side.seen.sent.iter().enumerate();
            seconds.map(|(second, sent)| (second as f64, f64::from(*sent))).collect()
        };
        let lost = |side: &Side| side.seen.lost().map(|(at, lost)| (at, 100.0 * lost)).collect();
        let panels = vec![
            panel("Latency", "first byte to last, s", DRAWN_S, &latencies),
            panel("Round-trip time", "srtt, s", DRAWN_S, &|side| side.seen.rtt.clone()),
            panel("Loss", "lost of 10 s, %", DRAWN_S, &lost),
            panel("Packets sent", "packets in a second", SENT_S, &sent),
        ];
        let r_tcp = &sides[1].outcome;
        let switches = r_tcp.switches.iter().map(|(at, switch)| (seconds(*at), switch.to.name()));
        let end = r_tcp.client.iter().filter_map(|write| write.last).max().map_or(0.0, seconds);
        let title = format!("{}: algorithm in use (Fig. {})", self.name, self.algorithm);
        vec![
            Figure {
                title: format!("{}: what came of it (Figs {})", self.name, self.shown),
                about: "The first minutes of the first run.".into(),
                panels,
            },
            wireless::in_use(&title, "The first run.", switches, end),
        ]
    }
}

impl Side {
    /// None where nothing arrived.
    fn new(
        scenario: &Scenario,
        flow: usize,
        seen: &[Vec<FlowWatch>],
        outcomes: &[Vec<FlowOutcome>],
    ) -> Option<Side> {
        let rtt = seen.iter().map(|flows| flows[flow].rtt.iter().map(|(_, srtt)| *srtt).collect());
        let rtt = Runs::new(rtt.collect());
        let own = || outcomes.iter().map(|flows| &flows[flow]);
        let received = |write: &Written| Some(write.first_to_last()?.as_secs_f64());
        let latency = own().map(|it| it.client.iter().filter_map(received).collect());
        let latency = Runs::new(latency.collect());
        let half_s = rtt.each(average)?.value / 2.0;
        let in_time = latency.each(|run| {
            let prompt = run.iter().filter(|latency| *latency + half_s < IN_TIME_S).count();
            prompt as f64 / run.len() as f64
        });
        let arrived: Vec<f64> = own().filter_map(|it| megabytes(scenario, flow, it)).collect();
        Some(Side {
            rtt,
            latency,
            in_time,
            megabytes: mean(&arrived),
            seen: seen.first()?[flow].clone(),
            outcome: outcomes.first()?[flow].clone(),
        })
    }
}

/// What had arrived when the last burst would have been over, had each been written at its time.
fn megabytes(scenario: &Scenario, flow: usize, outcome: &FlowOutcome) -> Option<f64> {
    let Workload::Bursts(bursts) = &scenario.flows[flow].activities[0].workload else {
        return None;
    };
    let interval = Span::try_from(bursts.interval).ok()?;
    let end = outcome.client.first()?.start + interval * u64::from(bursts.count);
    let arrived = outcome.client.iter().filter(|write| write.last.is_some_and(|last| last <= end));
    Some(arrived.map(|write| write.bytes).sum::<u64>() as f64 / 1e6)
}

fn seconds(time: Time) -> f64 {
    (time - Time::ZERO).as_secs_f64()
}

/// A number of a line that may not be there.
fn number(row: Option<PublishedRow>, column: &str) -> Result<Option<f64>, Error> {
    Ok(row.map(|row| row.number(column)).transpose()?.flatten())
}

/// The line of an environment, and where the file has several of a contender.
fn row<'a>(
    file: &'a Published,
    environment: &str,
    algorithm: Option<&str>,
) -> Result<Option<PublishedRow<'a>>, Error> {
    for row in file.rows() {
        let own = algorithm.map_or(Ok(true), |name| row.text("algorithm").map(|it| it == name))?;
        if own && row.text("environment")? == environment {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Tables 6-1 to 6-4.
fn statistics(places: &[Place], field: &Published) -> Result<Table, Error> {
    /// What it is called, the column of the file, and what it is.
    type Statistic = (&'static str, &'static str, fn(&Side) -> Option<Estimate>);
    const STATISTICS: [Statistic; 6] = [
        ("mean RTT, ms", "mean_rtt_ms", |it| scaled(it.rtt.each(average), 1e3)),
        ("deviation of RTT, ms", "stddev_rtt_ms", |it| scaled(it.rtt.each(deviation), 1e3)),
        ("mean latency, s", "mean_latency_s", |it| it.latency.each(average)),
        ("deviation of latency, s", "stddev_latency_s", |it| it.latency.each(deviation)),
        ("in time, %", "p_response_under_1s_percent", |it| scaled(it.in_time, 100.0)),
        ("arrived, MB", "transmitted_mb", |it| it.megabytes),
    ];
    let columns = [Column::new("cubic", 3), Column::new("R-TCP", 3)];
    let title = "RTT as TCP has it, latency from the first byte to the last at the receiver (tables 6-1 to 6-4)";
    let mut table = Table::new(title, "environment", columns);
    for place in places {
        let Some(sides) = place.pair(R_TCP) else { continue };
        for (name, column, of) in STATISTICS {
            let mut cells = Vec::new();
            for (side, algorithm) in sides.iter().zip(["cubic", "r_tcp"]) {
                let printed = number(row(field, place.key, Some(algorithm))?, column)?;
                cells.push(beside(printed, of(side), side.latency.n()));
            }
            table.rows.push(Row::new(format!("{}: {name}", place.name), cells));
        }
    }
    Ok(table)
}

/// Table 6-7, and hybla in place of R-TCP (section 6.4.3).
fn improvements(places: &[Place], today: &[Place], equivalent: &Published) -> Result<Table, Error> {
    let columns = [
        Column::new("R-TCP below cubic beside it, %", 1),
        Column::new("hybla alone below cubic beside it, %", 1),
        Column::new("R-TCP below hybla alone, %", 1),
        Column::new("Linux 6: kirikae below cubic beside it, %", 1),
    ];
    let title = "How much less the mean latency is (table 6-7), and by switching (section 6.4.3)";
    let mut table = Table::new(title, "environment", columns);
    for place in places {
        let printed = number(row(equivalent, place.key, None)?, "improvement_percent")?;
        let (Some(r_tcp), Some(hybla)) = (place.pair(R_TCP), place.pair(HYBLA)) else { continue };
        let below = |[cubic, other]: &[Side; 2]| other.latency.below(&cubic.latency, average);
        let n = r_tcp[1].latency.n();
        let switched = r_tcp[1].latency.below(&hybla[1].latency, average);
        let today = today.iter().find(|other| other.key == place.key);
        let kirikae = today.and_then(|today| below(today.pair(KIRIKAE)?));
        let cells = vec![
            beside(printed, below(r_tcp), n),
            cell(below(hybla), n),
            cell(switched, n),
            cell(kirikae, n),
        ];
        table.rows.push(Row::new(place.name, cells));
    }
    Ok(table)
}

/// Table 6-6, and what it is in opinions.
fn equivalents(places: &[Place], equivalent: &Published) -> Result<Table, Error> {
    let columns = [
        Column::new("round trips of cubic", 2),
        Column::new("RTT less by, ms", 1),
        Column::new("mean opinion higher by", 2),
    ];
    let title = "As if the RTT were less (table 6-6), and what that is in opinions (section 6.4.4)";
    let mut table = Table::new(title, "environment", columns);
    for place in places {
        let Some([cubic, r_tcp]) = place.pair(R_TCP) else { continue };
        let value = |runs: &Runs| runs.each(average).map(|it| it.value);
        let values = (value(&cubic.latency), value(&cubic.rtt), value(&r_tcp.latency));
        let (Some(latency_s), Some(rtt_s), Some(better_s)) = values else { continue };
        let trips = latency_s / rtt_s;
        let less_ms = 1e3 * (latency_s - better_s) / trips;
        let n = r_tcp.latency.n();
        let found = [
            ("mean_round_trips", trips),
            ("equivalent_rtt_reduction_ms", less_ms),
            ("opinion_gain", less_ms * OPINION_PER_MS),
        ];
        let mut cells = Vec::new();
        for (column, found) in found {
            let printed = number(row(equivalent, place.key, None)?, column)?;
            cells.push(beside(printed, Some(one(found)), n));
        }
        table.rows.push(Row::new(place.name, cells));
    }
    Ok(table)
}

fn scaled(estimate: Option<Estimate>, by: f64) -> Option<Estimate> {
    let half_width = |it: Estimate| it.half_width.map(|half| half * by);
    estimate.map(|it| Estimate { value: it.value * by, half_width: half_width(it) })
}
