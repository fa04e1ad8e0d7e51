//! Cubic and R-TCP over the time of a run: the one in which cubic was slowest.

use kirikae_results::Error;
use kirikae_results::outcome::{Comparison, Performance};
use kirikae_sim::Observer;
use kirikae_simlab::sim;

use super::super::watch::{FlowWatch, PathWatch, WindowWatch};
use super::super::{Axis, Figure, Form, Panel, Scale, Series};
use super::judged::most_switched;
use super::{CUBIC, Course, HYBLA, R_TCP, controls, one};

/// Who is drawn, in the scenarios' order.
const DRAWN: [&str; 2] = [CUBIC, R_TCP];
/// How much is drawn of what changes with each ACK, seconds.
const DRAWN_S: f64 = 120.0;
const ABOUT: &str = "As simulated: the run in which cubic was slowest.";
/// Bursts drawn before and after the middle of those for which R-TCP has switched.
const AROUND: usize = 25;

/// Which run is drawn.
fn shown(comparison: &Comparison) -> usize {
    Course::of(comparison, CUBIC).map_or(0, |cubic| cubic.slowest())
}

fn run<'a>(comparison: &'a Comparison, contender: &str) -> Option<&'a Performance> {
    Course::of(comparison, contender)?.run(shown(comparison))
}

/// The run again, each contender before an observer.
fn watch<O: Observer + Default + Send>(
    comparison: &Comparison,
) -> Result<Vec<(&'static str, O)>, Error> {
    let mut scenario = comparison.scenario.clone();
    scenario.contenders.retain(|it| DRAWN.contains(&it.name()));
    scenario.seed = scenario.seeds().nth(shown(comparison)).unwrap_or(scenario.seed);
    scenario.repetitions = 1;
    let names: Vec<&'static str> = scenario.contenders.iter().map(|it| it.name()).collect();
    let controls = controls(scenario.stack.name);
    let watched = sim::watch(&[scenario], &controls, O::default, |watch, _| watch)?;
    Ok(names.into_iter().zip(watched).collect())
}

/// The latency of each burst.
pub(in super::super) fn latencies(title: &str, comparison: &Comparison) -> Figure {
    let panel = |contender: &str| {
        let bursts = run(comparison, contender)?.bursts.iter().filter_map(|burst| {
            Some((burst.start_ns as f64 / 1e9, one(burst.delivery?.latency_s)))
        });
        Some(Panel {
            title: format!("{contender}, as simulated"),
            x: Axis::new("time, s", Scale::FromZero),
            y: Axis::new("latency, s", Scale::FromZero),
            series: vec![Series::ours("latency", Form::Line, bursts)],
        })
    };
    let panels = DRAWN.into_iter().filter_map(panel).collect();
    Figure { title: title.into(), about: ABOUT.into(), panels }
}

/// The algorithm that R-TCP has in use.
pub(in super::super) fn algorithms(title: &str, comparison: &Comparison) -> Option<Figure> {
    let run = run(comparison, R_TCP)?;
    let switches = run.switches.iter().map(|switch| (switch.at_ns as f64 / 1e9, &*switch.to));
    Some(in_use(title, ABOUT, switches, run.end_ns as f64 / 1e9))
}

/// The algorithm in use, which is cubic at first, from switches at their times to the end, in seconds.
pub(in super::super) fn in_use<'a>(
    title: &str,
    about: &str,
    switches: impl Iterator<Item = (f64, &'a str)>,
    end_s: f64,
) -> Figure {
    let mut names: Vec<&str> = vec![CUBIC];
    let mut steps = vec![(0.0, 0)];
    for (at, name) in switches {
        let name = name.trim_start_matches("kk_");
        let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        steps.extend([(at, steps[steps.len() - 1].1), (at, place)]);
    }
    steps.push((end_s, steps[steps.len() - 1].1));
    let point = |(at, place): (f64, usize)| (at, one(place as f64));
    let names = names.into_iter().map(str::to_owned).collect();
    Figure::single(
        title,
        about,
        [Axis::new("time, s", Scale::FromZero), Axis::new("", Scale::Names(names))],
        vec![Series::ours(R_TCP, Form::Line, steps.into_iter().map(point))],
    )
}

/// The share that the channel lost.
pub(in super::super) fn losses(title: &str, comparison: &Comparison) -> Result<Figure, Error> {
    let series = |(name, watch): (&str, PathWatch)| {
        let points = watch.flows.iter().flat_map(FlowWatch::lost);
        Series::ours(name, Form::Line, points.map(|(at, lost)| (at, one(100.0 * lost))))
    };
    Ok(Figure::single(
        title,
        format!("{ABOUT} Of the segments with data that were sent in ten seconds."),
        [Axis::new("time, s", Scale::FromZero), Axis::new("lost, %", Scale::FromZero)],
        watch(comparison)?.into_iter().map(series).collect(),
    ))
}

/// The congestion window over the beginning.
pub(in super::super) fn windows(title: &str, comparison: &Comparison) -> Result<Figure, Error> {
    let series = |(name, watch): (&str, WindowWatch)| {
        let points = watch.cwnd.into_iter().take_while(|(at, _)| *at < DRAWN_S);
        Series::ours(name, Form::Line, points.map(|(at, cwnd)| (at, one(cwnd))))
    };
    Ok(Figure::single(
        title,
        format!("{ABOUT} Its first two minutes."),
        [Axis::new("time, s", Scale::FromZero), Axis::new("cwnd, segments", Scale::Log)],
        watch(comparison)?.into_iter().map(series).collect(),
    ))
}

/// R-TCP beside hybla alone while R-TCP has switched (Figs 6-25 and 6-26): what each burst took, and what R-TCP
/// had in use.
pub(in super::super) fn switched_beside_hybla(comparison: &Comparison) -> Option<Figure> {
    let (run, middle) = most_switched(comparison)?;
    let shown = |name: &str| {
        let bursts = &Course::of(comparison, name)?.run(run)?.bursts;
        bursts.get(middle.saturating_sub(AROUND)..(middle + AROUND).min(bursts.len()))
    };
    let (own, hybla) = (shown(R_TCP)?, shown(HYBLA)?);
    let start = |place: usize| own[place].start_ns as f64 / 1e9;
    let ends = (start(0), start(own.len() - 1));
    let latency = |name: &str, bursts: &[kirikae_results::outcome::Burst]| {
        let points = bursts
            .iter()
            .enumerate()
            .filter_map(|(place, burst)| Some((start(place), one(burst.delivery?.latency_s))));
        Series::ours(name, Form::Curve, points)
    };
    let mut names: Vec<String> = Vec::new();
    let in_use = own.iter().enumerate().map(|(number, burst)| {
        let name = burst.algorithm_before.trim_start_matches("kk_").to_owned();
        let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        (start(number), one(place as f64))
    });
    let in_use = Series::ours(R_TCP, Form::Dots, in_use.collect::<Vec<_>>());
    let panel = |title: &str, y: Axis, series: Vec<Series>| Panel {
        title: title.into(),
        x: Axis::new("time, s", Scale::Between(ends.0, ends.1)),
        y,
        series,
    };
    let latencies = vec![latency(R_TCP, own), latency(HYBLA, hybla)];
    Some(Figure {
        title: "R-TCP beside hybla alone while it has switched (Figs 6-25 and 6-26)".into(),
        about: "As simulated: the run with most bursts that R-TCP sent with Scalable or Westwood. Both meet the same \
                losses until they differ."
            .into(),
        panels: vec![
            panel("Latency", Axis::new("latency, s", Scale::FromZero), latencies),
            panel("R-TCP's algorithm", Axis::new("", Scale::Names(names)), vec![in_use]),
        ],
    })
}
