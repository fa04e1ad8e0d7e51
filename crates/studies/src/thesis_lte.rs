//! R-TCP over LTE (Oguchi, doctoral thesis, 2016, chapter 6), rebuilt: studies/thesis-lte/README.md.

use kirikae_path::{Span, Time};
use kirikae_results::Error;
use kirikae_results::outcome::Comparison;
use kirikae_results::statistics::{Estimate, mean};
use kirikae_scenario::{Controls, Scenario, Workload};
use kirikae_sim::{FlowOutcome, Written};
use kirikae_simlab::sim;

use super::watch::{FlowWatch, PathWatch};
use super::wireless::{
    self, CUBIC, GAIN, HYBLA, KIRIKAE, OVER_BBR, OVER_BOUND, R_TCP, R_TCP_MEAN, Runs, SWITCHES,
    SWITCHING, THEN, average, beside, cell, deviation, one,
};
use super::{
    Axis, Column, Computed, Figure, Form, Found, Key, Material, Names, Panel, Point, Published,
    PublishedRow, Row, Scale, Series, Study, Table,
};

pub(super) const STUDY: Study = Study {
    name: "thesis-lte",
    names: Names {
        published: &["field.csv", "equivalent.csv"],
        criteria: &[
            CUBIC_RTT,
            CUBIC_LATENCY,
            R_TCP_MEAN,
            GAIN,
            SWITCHING,
            SWITCHES,
            SWITCHED,
            EQUIVALENT,
            IN_TIME,
            DEVIATIONS,
            RTT_DEVIATIONS,
            MEGABYTES,
            TOTALS,
            OVER_BOUND,
            OVER_BBR,
        ],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

const CUBIC_RTT: Key = Key::with("cubic-rtt", &["environment"]);
const CUBIC_LATENCY: Key = Key::with("cubic-latency", &["environment"]);
/// Where R-TCP has switched to an algorithm for losses: below hybla alone (section 6.4.3).
const SWITCHED: Key = Key::with("switched", &["path", "below", "bursts"]);
/// How far the printed figures are that no path was set to; of two the farther one.
const EQUIVALENT: Key = Key::with("equivalent", &["path"]);
const IN_TIME: Key = Key::with("in-time", &["path", "found", "printed"]);
const DEVIATIONS: Key = Key::with("deviations", &["path", "found", "printed"]);
const RTT_DEVIATIONS: Key = Key::with("rtt-deviations", &["path", "found", "printed"]);
const MEGABYTES: Key = Key::with("megabytes", &["path", "found", "printed"]);
const TOTALS: Key = Key::with("totals", &["path", "found", "printed"]);

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
/// Runs of each point of the panels by hybla's reference RTT.
const REPETITIONS: u32 = 6;
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
    let usual = wireless::controls(THEN);
    let (places, today) = (places(&then, &usual)?, places(&now, &Controls::default())?);
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
    figures.extend(sensitivity(&then, equivalent)?);
    let comparisons = wireless::play(&alone)?;
    let paths = comparisons.iter().map(|it| (swept(&it.scenario, "environment.name"), it));
    let paths: Vec<(&str, &Comparison)> = paths.collect();
    for (path, comparison) in paths.iter().filter(|(_, it)| it.scenario.stack.name == THEN) {
        found.extend(wireless::switched(path, comparison));
        if let Some((below, bursts)) = wireless::below_where_switched(comparison) {
            // One run has no interval.
            found.extend(below.half_width.map(|half| {
                let least = Found::new(SWITCHED, below.value - half, bursts).word("path", *path);
                let least = least.word("bursts", bursts.to_string());
                least.word("below", wireless::text(below))
            }));
            figures.extend(wireless::switched_beside_hybla(comparison).map(|figure| Figure {
                title: format!("{path}, alone: {}", figure.title),
                ..figure
            }));
        }
    }
    found.extend(wireless::today(&paths));
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
    /// Sum of the latencies of the bursts that arrived while there was one every interval, seconds.
    total: Option<Estimate>,
    /// What arrived while there was a burst every interval, megabytes.
    megabytes: Option<Estimate>,
    /// The first run: what was seen of it, and what it wrote and whom it switched to.
    seen: FlowWatch,
    outcome: FlowOutcome,
}

/// Each environment with each contender, simulated; all on the same hosts.
fn places<'a>(scenarios: &'a [Scenario], controls: &Controls) -> Result<Vec<Place<'a>>, Error> {
    let runs = sim::watch(scenarios, controls, PathWatch::default, |watch, outcome| {
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

    /// R-TCP's mean latency below that of cubic beside it, and below hybla's in its place, in percent.
    fn gains(&self) -> Option<[Option<Estimate>; 2]> {
        let ([cubic, r_tcp], [_, hybla]) = (self.pair(R_TCP)?, self.pair(HYBLA)?);
        Some([&cubic.latency, &hybla.latency].map(|other| r_tcp.latency.below(other, average)))
    }

    /// Cubic and R-TCP beside print, and R-TCP beside hybla in its place.
    fn found(&self, field: &Published, equivalent: &Published) -> Result<Vec<Found>, Error> {
        let Some(sides @ [cubic, r_tcp]) = self.pair(R_TCP) else { return Ok(Vec::new()) };
        let n = cubic.latency.n();
        let off = |key: Key, word: &'static str, found: Option<f64>, printed: Option<f64>| {
            let off = found.zip(printed).map(|(found, printed)| (found / printed - 1.0).abs());
            off.map(|off| Found::new(key, off, n).word(word, self.name))
        };
        let value = |found: Option<Estimate>| found.map(|it| it.value);
        let printed = |algorithm, column| number(row(field, self.key, Some(algorithm))?, column);
        let of_improvement = |column| number(row(equivalent, self.key, None)?, column);
        let rtt_ms = value(cubic.rtt.each(average)).map(|rtt| 1e3 * rtt);
        let [latency, own] = [cubic, r_tcp].map(|side| value(side.latency.each(average)));
        let mut found = vec![
            off(CUBIC_RTT, "environment", rtt_ms, printed("cubic", "mean_rtt_ms")?),
            off(CUBIC_LATENCY, "environment", latency, printed("cubic", "mean_latency_s")?),
            off(R_TCP_MEAN, "path", own, printed("r_tcp", "mean_latency_s")?),
        ];
        let [below_cubic, below_hybla] = self.gains().unwrap_or_default();
        let gain = below_cubic.zip(of_improvement("improvement_percent")?);
        let gain = gain.and_then(|(found, printed)| wireless::gain_of(GAIN, found, printed, n));
        found.push(gain.map(|gain| gain.word("path", self.name)));
        found.push(wireless::switching(self.name, below_hybla, n));
        let less_ms = shortened(sides).map(|(_, less_ms)| less_ms);
        let printed_ms = of_improvement("equivalent_rtt_reduction_ms")?;
        found.push(off(EQUIVALENT, "path", less_ms, printed_ms));
        for (key, statistic) in JUDGED {
            let Some((_, column, of)) = STATISTICS.into_iter().find(|it| it.0 == statistic) else {
                continue;
            };
            let printed = [printed("cubic", column)?, printed("r_tcp", column)?];
            found.push(
                farther(key, sides.each_ref().map(of), printed, n)
                    .map(|it| it.word("path", self.name)),
            );
        }
        Ok(found.into_iter().flatten().collect())
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
        let in_interval = own().filter_map(|it| of_interval(scenario, flow, it));
        let in_interval: Vec<(f64, f64)> = in_interval.collect();
        let (arrived, totals): (Vec<f64>, Vec<f64>) = in_interval.into_iter().unzip();
        Some(Side {
            rtt,
            latency,
            in_time,
            megabytes: mean(&arrived),
            total: mean(&totals),
            seen: seen.first()?[flow].clone(),
            outcome: outcomes.first()?[flow].clone(),
        })
    }
}

/// What had arrived when the last burst would have been over, had each been written at its time: megabytes, and
/// the sum of the latencies in seconds.
fn of_interval(scenario: &Scenario, flow: usize, outcome: &FlowOutcome) -> Option<(f64, f64)> {
    let Workload::Bursts(bursts) = &scenario.flows[flow].activities[0].workload else {
        return None;
    };
    let interval = Span::try_from(bursts.interval).ok()?;
    let end = outcome.client.first()?.start + interval * u64::from(bursts.count);
    let arrived = outcome.client.iter().filter(|write| write.last.is_some_and(|last| last <= end));
    let arrived: Vec<&Written> = arrived.collect();
    let bytes = arrived.iter().map(|write| write.bytes).sum::<u64>();
    let latency_s = |write: &&Written| Some(write.first_to_last()?.as_secs_f64());
    Some((bytes as f64 / 1e6, arrived.iter().filter_map(latency_s).sum()))
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

/// A row of tables 6-1 to 6-4: what it is called, the column of the file, and what it is.
type Statistic = (&'static str, &'static str, fn(&Side) -> Option<Estimate>);

const RTT_DEVIATION: &str = "deviation of RTT, ms";
const DEVIATION: &str = "deviation of latency, s";
const IN_TIME_SHARE: &str = "in time, %";
const TOTAL: &str = "total latency, s";
const ARRIVED: &str = "arrived, MB";
const STATISTICS: [Statistic; 7] = [
    ("mean RTT, ms", "mean_rtt_ms", |it| scaled(it.rtt.each(average), 1e3)),
    (RTT_DEVIATION, "stddev_rtt_ms", |it| scaled(it.rtt.each(deviation), 1e3)),
    ("mean latency, s", "mean_latency_s", |it| it.latency.each(average)),
    (DEVIATION, "stddev_latency_s", |it| it.latency.each(deviation)),
    (TOTAL, "total_latency_s", |it| it.total),
    (IN_TIME_SHARE, "p_response_under_1s_percent", |it| scaled(it.in_time, 100.0)),
    (ARRIVED, "transmitted_mb", |it| it.megabytes),
];
/// Those that are judged, of cubic and R-TCP together.
const JUDGED: [(Key, &str); 5] = [
    (IN_TIME, IN_TIME_SHARE),
    (DEVIATIONS, DEVIATION),
    (RTT_DEVIATIONS, RTT_DEVIATION),
    (MEGABYTES, ARRIVED),
    (TOTALS, TOTAL),
];

/// The larger relative difference of cubic's figure and R-TCP's from the printed ones.
fn farther(
    key: Key,
    found: [Option<Estimate>; 2],
    printed: [Option<f64>; 2],
    n: usize,
) -> Option<Found> {
    let pairs =
        found.into_iter().zip(printed).map(|(found, printed)| Some((found?.value, printed?)));
    let pairs: Vec<(f64, f64)> = pairs.collect::<Option<_>>()?;
    let off = pairs.iter().map(|(found, printed)| (found / printed - 1.0).abs());
    let off = off.max_by(f64::total_cmp)?;
    let both = |of: &dyn Fn(&(f64, f64)) -> String| {
        pairs.iter().map(of).collect::<Vec<String>>().join(" and ")
    };
    let found = Found::new(key, off, n).word("found", both(&|pair| format!("{:.3}", pair.0)));
    Some(found.word("printed", both(&|pair| pair.1.to_string())))
}

/// Tables 6-1 to 6-4.
fn statistics(places: &[Place], field: &Published) -> Result<Table, Error> {
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
        let Some(sides) = place.pair(R_TCP) else { continue };
        let Some((trips, less_ms)) = shortened(sides) else { continue };
        let n = sides[1].latency.n();
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

/// Round trips of cubic's latency, and by how many milliseconds the RTT would have to be less for R-TCP's.
fn shortened([cubic, r_tcp]: &[Side; 2]) -> Option<(f64, f64)> {
    let value = |runs: &Runs| runs.each(average).map(|it| it.value);
    let latency_s = value(&cubic.latency)?;
    let trips = latency_s / value(&cubic.rtt)?;
    Some((trips, 1e3 * (latency_s - value(&r_tcp.latency)?) / trips))
}

/// What R-TCP gains beside cubic by hybla's reference RTT, in each environment.
fn sensitivity(scenarios: &[Scenario], equivalent: &Published) -> Result<Option<Figure>, Error> {
    let mut fewer = scenarios.to_vec();
    for scenario in &mut fewer {
        scenario.contenders.retain(|it| [R_TCP, HYBLA].contains(&it.name()));
        scenario.repetitions = scenario.repetitions.min(REPETITIONS);
    }
    let mut panels: Vec<Panel> = Vec::new();
    for ms in wireless::REFERENCES_MS {
        for (at, place) in places(&fewer, &wireless::with_reference(ms))?.iter().enumerate() {
            if panels.len() <= at {
                let printed = number(row(equivalent, place.key, None)?, "improvement_percent")?;
                let ends = wireless::REFERENCES_MS.map(f64::from).into_iter();
                let level = printed.into_iter().flat_map(|it| ends.clone().map(move |ms| (ms, it)));
                panels.push(Panel {
                    title: place.name.into(),
                    x: Axis::new("reference RTT of hybla, ms", Scale::FromZero),
                    y: Axis::new("mean latency below cubic's, %", Scale::FromZero),
                    series: vec![
                        Series::published(R_TCP, Form::Line, level),
                        Series::ours(R_TCP, Form::Curve, []),
                    ],
                });
            }
            let below = place.gains().and_then(|[below, _]| below);
            let Some(Estimate { value: y, half_width }) = below else { continue };
            panels[at].series[1].points.push(Point { x: f64::from(ms), y, half_width });
        }
    }
    Ok((!panels.is_empty()).then(|| wireless::sensitivity(panels)))
}

fn scaled(estimate: Option<Estimate>, by: f64) -> Option<Estimate> {
    let half_width = |it: Estimate| it.half_width.map(|half| half * by);
    estimate.map(|it| Estimate { value: it.value * by, half_width: half_width(it) })
}
