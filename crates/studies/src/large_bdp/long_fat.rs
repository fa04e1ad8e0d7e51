//! The algorithms of chapter 4 and those of today over 1 and 10 Gbit/s with long round trips: how soon they fill the
//! path, how they come back after one loss, and what the buffer makes of it. The paper names them and measures none.

use kirikae_algorithms::Algorithm;
use kirikae_path::{ElementSpec, Time, bottleneck};
use kirikae_results::statistics::Estimate;
use kirikae_scenario::{Controls, Scenario};
use kirikae_sim::{End, Observer};
use kirikae_simlab::sim;
use kirikae_tcp::Endpoint;

use super::super::{
    Axis, Cell, Column, Computed, Error, Figure, Form, Found, Key, Panel, Row, Scale, Series,
    Table, swept,
};

pub(super) const EFFICIENT: Key = Key::with("efficient", &["highspeed", "scalable", "reno"]);

/// What is filled has so much of what the link carries of data, in a round trip, or in a bin if that is longer.
const FILLED: f64 = 0.9;
const BIN_NS: u64 = 50_000_000;

/// What arrives in order at the server of the first flow.
#[derive(Debug, Default)]
struct ArrivalWatch {
    /// All that has arrived by the end of each bin, bytes.
    arrived: Vec<u64>,
}

impl Observer for ArrivalWatch {
    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        if flow != 0 || end != End::Server {
            return;
        }
        let bin = (now.as_nanos() / BIN_NS) as usize;
        if self.arrived.len() <= bin {
            let last = self.arrived.last().copied().unwrap_or(0);
            self.arrived.resize(bin + 1, last);
        }
        self.arrived[bin] = endpoint.in_order();
    }
}

/// What ships, but FAST with its paper's alpha: kk_fast's own, a tenth of it, is for slower paths than these, which it does
/// not fill in time.
fn controls() -> Controls {
    let set = |it: Algorithm| match it.name() {
        "kk_fast" => it.with("alpha", 200).expect("within its range"),
        _ => it,
    };
    Controls { algorithms: Algorithm::all().map(set).collect(), ..Controls::default() }
}

/// What came of an algorithm on a path.
struct Course {
    contender: &'static str,
    rate: String,
    rtt_ms: f64,
    queue: f64,
    /// Until the path is full, seconds; none if it never is before the loss.
    fills_s: Option<f64>,
    /// From the loss until it is full again.
    recovers_s: Option<f64>,
    /// Share of what the link carries, of the whole run.
    used: f64,
}

impl Course {
    fn new(scenario: &Scenario, contender: &'static str, watch: &ArrivalWatch) -> Option<Course> {
        let path = &scenario.links.first()?.path;
        let rtt_s = path.base_rtt().as_secs_f64();
        let loss_s = path.forward.iter().find_map(|element| match element {
            ElementSpec::Outage(outage) => Some(outage.when.intervals.first()?.0),
            _ => None,
        })?;
        let loss_s = (loss_s - Time::ZERO).as_secs_f64();
        let end_s = scenario.duration?.as_secs_f64();
        let data = f64::from(scenario.stack.mtu - 52) / f64::from(scenario.stack.mtu);
        let most = bottleneck(&path.forward)? as f64 * data / 8.0;
        let bin_s = BIN_NS as f64 / 1e9;
        let span = (rtt_s / bin_s).ceil().max(1.0) as usize;
        let at = |bin: usize| watch.arrived.get(bin).or(watch.arrived.last()).copied().unwrap_or(0);
        let rate = |bin: usize| {
            let before = if bin < span { 0 } else { at(bin - span) };
            (at(bin) - before) as f64 / (span as f64 * bin_s)
        };
        let is_full = |bin: usize| rate(bin) >= FILLED * most;
        let (loss, end) = ((loss_s / bin_s) as usize, (end_s / bin_s) as usize);
        let fills = (0..loss).find(|bin| is_full(*bin));
        // The loss shows when what followed it has gone round.
        let falls = (loss..(loss + 3 * span + 2).min(end)).find(|bin| !is_full(*bin));
        let recovers = match falls {
            None => Some(0.0),
            Some(falls) => {
                (falls..end).find(|bin| is_full(*bin)).map(|bin| (bin + 1) as f64 * bin_s - loss_s)
            }
        };
        Some(Course {
            contender,
            rate: scenario.swept.get("path.rate")?.clone(),
            rtt_ms: rtt_s * 1e3,
            queue: swept(scenario, "path.share")?,
            fills_s: fills.map(|bin| (bin + 1) as f64 * bin_s),
            recovers_s: recovers.filter(|_| fills.is_some()),
            used: at(end) as f64 / end_s / most,
        })
    }

    fn path(&self) -> String {
        format!("{}, {} ms, {} BDP", self.rate, self.rtt_ms, self.queue)
    }
}

/// Plays the comparison: a table of each measure, a figure, and what is asked of it.
pub(super) fn compare(scenarios: &[Scenario]) -> Result<Computed, Error> {
    if scenarios.is_empty() {
        return Ok(Computed::default());
    }
    let seen = sim::watch(scenarios, &controls(), ArrivalWatch::default, |it, _| it)?;
    let contests = scenarios.iter().flat_map(|scenario| {
        let each = (0..scenario.contenders.len() * scenario.repetitions as usize)
            .map(|place| scenario.contenders[place / scenario.repetitions as usize].name());
        each.map(move |contender| (scenario, contender))
    });
    let courses: Vec<Course> = contests
        .zip(&seen)
        .filter_map(|((scenario, contender), watch)| Course::new(scenario, contender, watch))
        .collect();
    let fills = table("Time until 90 % of the link are used, s (chapter 4)", &courses, 2, &|it| {
        it.fills_s.ok_or("never")
    });
    let recovers = table(
        "Time from a loss of one or two packets until 90 % are used again, s (chapter 4)",
        &courses,
        2,
        &|it| it.recovers_s.ok_or(if it.fills_s.is_some() { "not yet" } else { "never full" }),
    );
    let used = table("Share of the link that is used, % (chapter 4)", &courses, 1, &|it| {
        Ok(100.0 * it.used)
    });
    Ok(Computed {
        found: efficient(&courses).into_iter().collect(),
        tables: vec![fills, recovers, used],
        figures: figure(&courses).into_iter().collect(),
    })
}

fn table(
    title: &str,
    courses: &[Course],
    digits: usize,
    value: &dyn Fn(&Course) -> Result<f64, &'static str>,
) -> Table {
    let names = contenders(courses);
    let mut table =
        Table::new(title, "rate, RTT, buffer", names.iter().map(|name| Column::new(*name, digits)));
    for own in courses.chunk_by(|a, b| a.path() == b.path()) {
        let cell = |name: &&str| {
            let found = own.iter().find(|it| it.contender == *name);
            match found.map(value) {
                Some(Ok(value)) => Cell::ours(one(value), 1),
                Some(Err(word)) => Cell::word(word),
                None => Cell::default(),
            }
        };
        table.rows.push(Row::new(own[0].path(), names.iter().map(cell).collect()));
    }
    table
}

fn one(value: f64) -> Estimate {
    Estimate { value, half_width: None }
}

fn contenders(courses: &[Course]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for course in courses {
        if !names.contains(&course.contender) {
            names.push(course.contender);
        }
    }
    names
}

/// "Efficient": what HighSpeed TCP and Scalable TCP use of the link beside Reno, in the mean of all paths; the less of
/// both over Reno's.
fn efficient(courses: &[Course]) -> Option<Found> {
    let used = |name: &str| {
        let own: Vec<f64> =
            courses.iter().filter(|it| it.contender == name).map(|it| it.used).collect();
        (!own.is_empty()).then(|| own.iter().sum::<f64>() / own.len() as f64)
    };
    let (highspeed, scalable, reno) = (used("kk_highspeed")?, used("kk_scalable")?, used("reno")?);
    let paths = courses.iter().filter(|it| it.contender == "reno").count();
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let found = Found::new(EFFICIENT, highspeed.min(scalable) / reno, paths);
    let found = found.word("highspeed", percent(highspeed)).word("scalable", percent(scalable));
    Some(found.word("reno", percent(reno)))
}

/// The share that is used, by RTT: a panel for each rate and buffer.
fn figure(courses: &[Course]) -> Option<Figure> {
    let mut kinds: Vec<(String, f64)> = Vec::new();
    for course in courses {
        let kind = (course.rate.clone(), course.queue);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let panel = |(rate, queue): &(String, f64)| {
        let own = || courses.iter().filter(|it| it.rate == *rate && it.queue == *queue);
        let series = contenders(courses).into_iter().map(|name| {
            let points = own().filter(|it| it.contender == name);
            Series::ours(name, Form::Curve, points.map(|it| (it.rtt_ms, one(100.0 * it.used))))
        });
        Panel {
            title: format!("{rate}, buffer of {queue} BDP"),
            x: Axis::new("RTT, ms", Scale::Log),
            y: Axis::new("share of the link used, %", Scale::Between(0.0, 100.0)),
            series: series.collect(),
        }
    };
    let panels: Vec<Panel> = kinds.iter().map(panel).collect();
    (!panels.is_empty()).then(|| Figure {
        title: "High-speed algorithms over long fat paths (chapter 4)".into(),
        about: "One download from its beginning, with a loss of one or two packets half-way. The paper names the \
                algorithms and measures none."
            .into(),
        panels,
    })
}
