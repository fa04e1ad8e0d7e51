//! `docs/guard/hosts.csv`, what the guard makes of simulated hosts on which switching helps, does nothing, or
//! hurts; and the table of docs/guard.md.

use std::f64::consts::TAU;

use anyhow::{Context, ensure};
use kirikae_algorithms::BurstSpans;
use kirikae_guard::{Ask, ERROR, Guard, Strata};
use kirikae_path::{RandomStream, stream_seed};
use kirikae_results::statistics::quantile;
use kirikae_scenario::{Contender, Controls};
use kirikae_simlab::search;
use rayon::prelude::*;

use crate::markdown;
use crate::places::{Remade, seeded};

/// Of every random stream. (By the paths of seeds 1 to 4 the guard was designed.)
const SEED: u64 = 5;
/// Hosts of each case.
const HOSTS: u64 = 1000;
/// Connections of stock cubic that are simulated, each on a path of its own, as `kirikae-lab search` draws them.
const PATHS: u64 = 500;
/// Bursts of each.
const PATH_BURSTS: u32 = 400;
/// How many connections a host has at a time, and how many bursts one lives, at least and at most: logarithms uniform.
const CONNECTIONS: [f64; 2] = [5.0, 200.0];
const LIFE: [f64; 2] = [1.0, 401.0];
/// Share of spans that is held back as installed.
const HOLDBACK: f64 = 0.02;
/// The guard is asked after so many bursts of the host.
const LOOKS_EVERY: u32 = 50;
/// The first bursts of a span that still take as long as with the treatment of the span before.
const CARRIED_OVER: u32 = 2;
/// A wave of this share up and down, in so many bursts; and a step somewhere in the first so many.
const WAVE: f64 = 0.3;
const STEP: f64 = 1.5;
const DAY: f64 = 20_000.0;
/// Labels of the streams of what connections there are and whose turn it is, of lots, and of drifts.
const TRAFFIC: u64 = 1;
const LOTS: u64 = 2;
const DRIFT: u64 = 3;
/// Hosts that are simulated again.
const PLACES: usize = 4;

/// What is simulated.
struct Case {
    name: &'static str,
    /// Latency of switched bursts over that of stock.
    factor: f64,
    /// Whether all latencies change with time.
    drifts: bool,
    /// Whether each host has one connection, which never ends.
    lasts: bool,
    /// Bursts of each host.
    bursts: u32,
}

const fn case(name: &'static str, factor: f64) -> Case {
    Case { name, factor, drifts: false, lasts: false, bursts: 20_000 }
}

const CASES: [Case; 12] = [
    case("helps", 0.7),
    case("helps-a-little", 0.97),
    case("nothing", 1.0),
    case("limit", 1.02),
    case("hurts", 1.05),
    case("hurts-much", 1.5),
    Case { drifts: true, ..case("nothing-drift", 1.0) },
    Case { drifts: true, ..case("hurts-drift", 1.05) },
    Case { bursts: 200_000, ..case("nothing-long", 1.0) },
    Case { lasts: true, bursts: 200_000, ..case("nothing-lasts", 1.0) },
    Case { lasts: true, bursts: 200_000, ..case("hurts-lasts", 1.05) },
    Case { lasts: true, bursts: 200_000, ..case("hurts-much-lasts", 1.5) },
];

/// What became of a host.
struct Course {
    /// Bursts until it went back to observing; infinite where it never did.
    back_after: f64,
    /// The guard's last estimate; none where it never had any.
    ratio: Option<f64>,
    /// Whether the true ratio was ever outside of the interval.
    missed: bool,
    /// Share of its bursts that was held back until it went back.
    held_back: f64,
    /// How often the share was changed.
    changes: u32,
}

/// Latencies of stock cubic, seconds, path by path.
fn paths() -> anyhow::Result<Vec<Vec<f64>>> {
    let controls = Controls::default();
    let path = |index| {
        search::latencies(SEED, index, PATH_BURSTS, Contender::BASELINE, &controls)
            .map_err(anyhow::Error::from)
    };
    let indices: Vec<u64> = (0..PATHS).collect();
    // One at a time: they differ in length.
    indices.into_par_iter().with_max_len(1).map(path).collect()
}

/// Plays all hosts.
pub fn make() -> anyhow::Result<Vec<Option<String>>> {
    let paths = paths()?;
    let numbers: Vec<u64> = (0..HOSTS).collect();
    let hosts: Vec<Vec<Course>> =
        numbers.into_par_iter().map(|host| courses(&paths, host)).collect();
    let names = CASES.iter().map(|case| format!(";{0}_back;{0}_ratio", case.name));
    let mut rows = format!("host{}\n", names.collect::<String>());
    for (host, courses) in hosts.iter().enumerate() {
        rows += &format!("{}\n", row(host as u64, courses));
    }
    Ok(vec![Some(rows), Some(page(&hosts))])
}

fn courses(paths: &[Vec<f64>], host: u64) -> Vec<Course> {
    CASES.iter().map(|case| course(paths, host, case)).collect()
}

fn row(host: u64, courses: &[Course]) -> String {
    let cells = courses.iter().map(|course| {
        let ratio = course.ratio.map_or("-".into(), |ratio| format!("{ratio:.4}"));
        format!(";{};{ratio}", count(course.back_after))
    });
    format!("{host}{}", cells.collect::<String>())
}

/// A number of bursts, or a dash where there is none.
fn count(bursts: f64) -> String {
    if bursts.is_finite() { format!("{bursts:.0}") } else { "-".into() }
}

/// A connection of a host.
struct Live<'a> {
    /// What its next bursts take with the host's own congestion control, seconds.
    stock_s: Box<dyn Iterator<Item = &'a f64> + 'a>,
    past: BurstSpans,
    span: Option<Span>,
    /// Whether the span before was held back; none before there was one.
    before: Option<bool>,
}

/// A span under way.
struct Span {
    epoch: u32,
    is_held_back: bool,
    bursts: u32,
}

impl<'a> Live<'a> {
    /// A part of a random path.
    fn draw(paths: &'a [Vec<f64>], stream: &mut RandomStream) -> Live<'a> {
        let path = &paths[(stream.uniform() * paths.len() as f64) as usize];
        let life = (log_uniform(stream, LIFE) as usize).min(path.len());
        let from = (stream.uniform() * (path.len() - life + 1) as f64) as usize;
        Live::of(path[from..from + life].iter())
    }

    /// All of a random path, over and over.
    fn draw_lasting(paths: &'a [Vec<f64>], stream: &mut RandomStream) -> Live<'a> {
        Live::of(paths[(stream.uniform() * paths.len() as f64) as usize].iter().cycle())
    }

    fn of(stock_s: impl Iterator<Item = &'a f64> + 'a) -> Live<'a> {
        let stock_s = Box::new(stock_s);
        Live { stock_s, past: BurstSpans::default(), span: None, before: None }
    }

    /// Whether the next burst is held back, and by what switching multiplies its latency.
    fn next_burst(&mut self, guard: &Guard, lots: &mut RandomStream, factor: f64) -> (bool, f64) {
        if self.span.as_ref().is_some_and(|span| span.epoch != guard.epoch()) {
            self.past.begin();
            self.leave_span();
        }
        let span = self.span.get_or_insert_with(|| {
            let Ask::HoldBack(share) = guard.asks() else { unreachable!("the host ends then") };
            Span { epoch: guard.epoch(), is_held_back: lots.chance(share), bursts: 0 }
        });
        span.bursts += 1;
        let before = self.before.filter(|_| span.bursts <= CARRIED_OVER);
        let is_as_stock = before.unwrap_or(span.is_held_back);
        (span.is_held_back, if is_as_stock { 1.0 } else { factor })
    }

    fn leave_span(&mut self) {
        self.before = self.span.take().map(|span| span.is_held_back);
    }
}

/// A host until it goes back to observing, or ends.
fn course(paths: &[Vec<f64>], host: u64, case: &Case) -> Course {
    let stream = |label| RandomStream::new(stream_seed(SEED, &[label, host]));
    let (mut traffic, mut lots, mut drift) = (stream(TRAFFIC), stream(LOTS), stream(DRIFT));
    let (phase, step) = (drift.uniform(), drift.uniform() * DAY);
    let drift = |burst: u32| {
        let burst = f64::from(burst);
        let wave = 1.0 + WAVE * (TAU * (burst / DAY + phase)).sin();
        if !case.drifts { 1.0 } else { wave * if burst < step { 1.0 } else { STEP } }
    };
    let connections = if case.lasts { 1 } else { log_uniform(&mut traffic, CONNECTIONS) as usize };
    let draw = if case.lasts { Live::draw_lasting } else { Live::draw };
    let mut live: Vec<Live> = (0..connections).map(|_| draw(paths, &mut traffic)).collect();
    let mut guard = Guard::new(HOLDBACK);
    let mut epoch = guard.epoch();
    let mut sums = Strata::default();
    let (mut held_back, mut missed) = (0, false);
    let mut after = f64::INFINITY;
    let mut played = case.bursts;
    for burst in 0..case.bursts {
        let turn = (traffic.uniform() * connections as f64) as usize;
        let connection = &mut live[turn];
        let stock_s = match connection.stock_s.next() {
            Some(stock_s) => stock_s,
            None => {
                *connection = draw(paths, &mut traffic);
                connection.stock_s.next().expect("a life of a burst at least")
            }
        };
        let (is_held_back, factor) = connection.next_burst(&guard, &mut lots, case.factor);
        held_back += u32::from(is_held_back);
        if connection.past.burst((stock_s * factor * drift(burst) * 1e6) as u32) {
            if let Some(span) = connection.past.end() {
                sums.add(span.stratum, span.octaves, is_held_back);
            }
            connection.leave_span();
        }
        if (burst + 1) % LOOKS_EVERY != 0 {
            continue;
        }
        guard.look(epoch, &sums, ERROR);
        let estimate = guard.verdict().estimate();
        missed |= estimate.is_some_and(|it| !(it.least..=it.most).contains(&case.factor));
        if guard.asks() == Ask::Observe {
            played = burst + 1;
            after = f64::from(played);
            break;
        }
        if guard.epoch() != epoch {
            epoch = guard.epoch();
            sums = Strata::default();
        }
    }
    Course {
        back_after: after,
        ratio: guard.verdict().estimate().map(|estimate| estimate.ratio),
        missed,
        held_back: f64::from(held_back) / f64::from(played),
        changes: guard.epoch(),
    }
}

/// At least the first, less than the second; the logarithm is uniform.
fn log_uniform(stream: &mut RandomStream, [least, most]: [f64; 2]) -> f64 {
    least * (most / least).powf(stream.uniform())
}

fn page(hosts: &[Vec<Course>]) -> String {
    let heading = [
        "switched takes",
        "paths",
        "connections",
        "bursts of a host",
        "hosts that went back",
        "bursts until then: median, 95 %",
        "found: median (5 to 95 %)",
        "intervals ever without the truth",
        "bursts held back",
        "changes of the share: mean, most",
    ];
    let rows = CASES.iter().enumerate().map(|(place, case)| {
        let courses = || hosts.iter().map(|courses| &courses[place]);
        let number = |of: fn(&Course) -> bool| courses().filter(|course| of(course)).count();
        let mean = |of: fn(&Course) -> f64| courses().map(of).sum::<f64>() / hosts.len() as f64;
        let sorted = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            move |q| quantile(&all, q).unwrap_or(f64::NAN)
        };
        let back = sorted(courses().map(|course| course.back_after).collect());
        let ratio = sorted(courses().filter_map(|course| course.ratio).collect());
        vec![
            case.factor.to_string(),
            if case.drifts { "drift" } else { "stay" }.into(),
            if case.lasts { "1, for ever" } else { "5 to 200" }.into(),
            case.bursts.to_string(),
            format!("{} of {}", number(|course| course.back_after.is_finite()), hosts.len()),
            format!("{}, {}", count(back(0.5)), count(back(0.95))),
            format!("{:.3} ({:.3} to {:.3})", ratio(0.5), ratio(0.05), ratio(0.95)),
            number(|course| course.missed).to_string(),
            format!("{:.0} %", mean(|course| course.held_back) * 100.0),
            format!(
                "{:.1}, {}",
                mean(|course| f64::from(course.changes)),
                courses().map(|course| course.changes).max().unwrap_or(0),
            ),
        ]
    });
    markdown::table(&heading, rows)
}

/// Seeded hosts as they are and as they come out now.
pub fn places(seed: u64, text: &str) -> anyhow::Result<Vec<Remade>> {
    let paths = paths()?;
    ensure!(text.lines().count() as u64 == HOSTS + 1, "a row for each host");
    let again = |written: &str| {
        let host = written.split(';').next().context("a host")?;
        let now = row(host.parse()?, &courses(&paths, host.parse()?));
        Ok(Remade { of: format!("host {host}"), written: written.into(), now })
    };
    seeded(text.lines().skip(1).collect(), PLACES, seed).into_iter().map(again).collect()
}
