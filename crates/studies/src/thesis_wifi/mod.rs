//! R-TCP in a fixed wireless environment (Oguchi, doctoral thesis, 2016, section 5.1), rebuilt:
//! studies/thesis-wifi/README.md.

mod channel;

use kirikae_results::Error;
use kirikae_results::outcome::Comparison;

use super::wireless::{
    self, CUBIC, CUBIC_MEAN, Course, DEVIATION_GAIN, GAIN, HYBLA, LATENCY_ROWS, OVER_BBR,
    OVER_BOUND, R_TCP, R_TCP_MEAN, SWITCHES, SWITCHING, THEN, average, cell,
};
use super::{
    Axis, Cell, Column, Computed, Figure, Form, Found, Key, Material, Names, Published, Row, Scale,
    Series, Study, Table, swept,
};
use channel::Channel;

pub(super) const STUDY: Study = Study {
    name: "thesis-wifi",
    names: Names {
        published: &["latency.csv", "throughput.csv", "channel.csv"],
        criteria: &[
            CUBIC_MEAN,
            R_TCP_MEAN,
            GAIN,
            DEVIATION_GAIN,
            SWITCHING,
            SWITCHES,
            FOR_LOSSES,
            SPIKES,
            PERIOD,
            OVER_BOUND,
            OVER_BBR,
            channel::FIT,
            channel::SHARE_FITTED,
            channel::SHARE_PRINTED,
            channel::TURNOVER_FITTED,
            channel::TURNOVER_AS_PRINTED,
            channel::TURNOVER_PRINTED,
        ],
        thresholds: &[],
        explanations: &[],
    },
    compute,
};

/// Fig. 5-7: R-TCP takes Scalable or Westwood where much is lost.
const FOR_LOSSES: Key = Key::new("for-losses");
/// Section 5.1.2: spikes above what people feel.
const SPIKES: Key = Key::new("spikes");
/// Section 7.1: a period of about a round trip is best.
const PERIOD: Key = Key::with("period", &["best", "period"]);

const PATH: &str = "Wireless LAN";
/// What people feel as slow (section 1.5), seconds.
const FELT_S: f64 = 1.0;
/// Runs of each point of the panel by hybla's reference RTT.
const REPETITIONS: u32 = 8;
/// R-TCP's measuring period of the thesis, which is about a round trip here.
const ROUND_TRIP_MS: f64 = 200.0;

fn compute(material: &Material) -> Result<Computed, Error> {
    let latency = material.printed("latency.csv");
    let channel =
        Channel::read(material.printed("throughput.csv"), material.printed("channel.csv"))?;
    let comparisons = wireless::play(&material.scenarios)?;
    let has = |name: &'static str| {
        let all = comparisons.iter();
        all.filter(|it| it.scenario.swept.contains_key(name)).collect::<Vec<&Comparison>>()
    };
    let (limits, periods, paths) = (has("limit"), has("period"), has("host.stack"));
    let printed_s = wireless::printed(latency, "mean_latency_s", "cubic")?;
    let (mut found, mut tables, mut figures) = (Vec::new(), Vec::new(), vec![channel.figure()]);
    if let Some(then) = paths.iter().find(|it| it.scenario.stack.name == THEN) {
        found.extend(of_then(latency, then)?);
        tables.push(wireless::published("Latency (table 5-3)", latency, &LATENCY_ROWS, then)?);
        figures.push(wireless::latencies("Latency of each burst (Figs 5-5 and 5-6)", then));
        figures.extend(wireless::algorithms("Algorithm that R-TCP has in use (Fig. 5-7)", then));
        figures.push(wireless::losses("What the channel lost (Fig. 5-8)", then)?);
    }
    found.extend(best_period(&periods));
    let paths: Vec<(&str, &Comparison)> = paths.into_iter().map(|it| (PATH, it)).collect();
    found.extend(wireless::today(&paths));
    found.extend(channel.found());
    tables.extend([wireless::then_and_now(&paths), wireless::everyone(&paths)]);
    tables.extend([by_limit(printed_s, &limits), channel.table()]);
    if let [_, _, ..] = limits[..] {
        figures.push(sensitivity(material, latency, &limits)?);
    }
    figures.extend(by_period(&periods));
    Ok(Computed { found, tables, figures })
}

/// What is held against print.
fn of_then(latency: &Published, then: &Comparison) -> Result<Vec<Found>, Error> {
    let printed = |metric, column| wireless::printed(latency, metric, column);
    let mean = |column| printed("mean_latency_s", column);
    let runs = then.performances.iter().filter(|run| run.contender.name() == R_TCP);
    let runs: Vec<_> = runs.collect();
    let hybla_alone = |to: &str| [HYBLA, CUBIC, "kk_cubic"].contains(&to);
    let others = runs.iter().filter(|run| run.switches.iter().any(|it| !hybla_alone(&it.to)));
    let spikes = wireless::longer_than(then, R_TCP, FELT_S);
    let [r_tcp, gain, deviation_gain] = wireless::beside_print(PATH, latency, then)?;
    let of_then = [
        wireless::off(CUBIC_MEAN, then, CUBIC, average, mean("cubic")?),
        r_tcp,
        gain,
        deviation_gain,
        wireless::switching(PATH, wireless::below_hybla(then, average), runs.len()),
        wireless::switched(PATH, then),
        Some(Found::new(FOR_LOSSES, others.count() as f64, runs.len())),
        spikes.map(|share| Found::new(SPIKES, 100.0 * share, runs.len())),
    ];
    Ok(of_then.into_iter().flatten().collect())
}

/// Cubic's mean by the retry limit, by which that was chosen, and what R-TCP and hybla make of each.
fn by_limit(printed_s: Option<f64>, limits: &[&Comparison]) -> Table {
    let columns = [
        Column::new("cubic's mean latency, s", 3),
        Column::new("R-TCP's", 3),
        Column::new("hybla's alone", 3),
        Column::new("R-TCP below hybla alone, %", 1),
        Column::new("switches of a run", 1),
    ];
    let mut table = Table::new("Which retry limit: the thesis gives none", "retries", columns);
    for comparison in limits {
        let Some(limit) = swept(&comparison.scenario, "limit") else { continue };
        let mean = |name| {
            let runs = Course::of(comparison, name).map(|course| course.latencies());
            (runs.as_ref().and_then(|runs| runs.each(average)), runs.map_or(0, |runs| runs.n()))
        };
        let ((cubic, n), (r_tcp, _), (hybla, _)) = (mean(CUBIC), mean(R_TCP), mean(HYBLA));
        let cubic: Cell = wireless::beside(printed_s, cubic, n);
        let below = wireless::below_hybla(comparison, average);
        let rest = [r_tcp, hybla, below, wireless::switches(comparison)];
        let rest = rest.into_iter().map(|found| cell(found, n));
        table.rows.push(Row::new(limit.to_string(), [cubic].into_iter().chain(rest).collect()));
    }
    table
}

fn sensitivity(
    material: &Material,
    latency: &Published,
    limits: &[&Comparison],
) -> Result<Figure, Error> {
    let printed = wireless::printed(latency, "mean_latency_s", "improvement_percent")?;
    let limits = limits.iter().filter_map(|it| Some((swept(&it.scenario, "limit")?, *it)));
    let limits: Vec<_> = limits.collect();
    let own = material.scenarios.iter().filter(|it| it.swept.contains_key("host.stack"));
    let own: Vec<_> = own.cloned().collect();
    let references = wireless::references(&own, REPETITIONS)?;
    let references = references.iter().filter_map(|(ms, all)| Some((*ms, all.first()?)));
    let references: Vec<_> = references.collect();
    Ok(wireless::sensitivity(vec![
        wireless::panel("By the retry limit", "retries", &limits, printed),
        wireless::panel("By hybla's reference RTT", "reference RTT, ms", &references, printed),
    ]))
}

/// R-TCP's mean latency by its measuring period, on a channel where it switches; in ms and seconds.
fn periods<'a>(comparisons: &'a [&Comparison]) -> impl Iterator<Item = (f64, wireless::Runs)> + 'a {
    let own = |it: &&Comparison| {
        Some((swept(&it.scenario, "period")?, Course::of(it, R_TCP)?.latencies()))
    };
    comparisons.iter().filter_map(own)
}

/// How much the period of about a round trip takes longer than the best, by the least of the interval.
fn best_period(comparisons: &[&Comparison]) -> Option<Found> {
    let all: Vec<(f64, wireless::Runs)> = periods(comparisons).collect();
    let mean = |runs: &wireless::Runs| Some(runs.each(average)?.value);
    let means = all.iter().filter_map(|(ms, runs)| Some((*ms, mean(runs)?, runs)));
    let best = means.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (_, usual) = all.iter().find(|(ms, _)| *ms == ROUND_TRIP_MS)?;
    let over = usual.over(best.2, average)?;
    let found = Found::new(PERIOD, over.value - over.half_width.unwrap_or(0.0), usual.n());
    let period = format!("{ROUND_TRIP_MS:.0}");
    Some(found.word("best", format!("{:.0}", best.0)).word("period", period))
}

fn by_period(comparisons: &[&Comparison]) -> Option<Figure> {
    let points: Vec<_> =
        periods(comparisons).filter_map(|(ms, runs)| Some((ms, runs.each(average)?))).collect();
    let (first, last) = (points.first()?.0, points.last()?.0);
    let hybla = comparisons.iter().find_map(|it| Course::of(it, HYBLA));
    let hybla = hybla.and_then(|course| course.latencies().each(average));
    let level = hybla.into_iter().flat_map(|level| [(first, level), (last, level)]);
    Some(Figure::single(
        "R-TCP by its measuring period (section 7.1)",
        "As simulated, with at most 2 retries, so that much is lost and R-TCP switches. The level is hybla's alone.",
        [Axis::new("period, ms", Scale::Log), Axis::new("mean latency, s", Scale::FromZero)],
        vec![Series::ours(R_TCP, Form::Curve, points), Series::ours(HYBLA, Form::Line, level)],
    ))
}
