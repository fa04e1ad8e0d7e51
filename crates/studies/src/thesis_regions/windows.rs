//! The window after an isolated loss, and after a burst of losses (Figs 3-1 and 3-2).

use kirikae_results::Error;
use kirikae_results::statistics::Estimate;
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim;

use super::super::watch::WindowWatch;
use super::super::{
    Axis, Cell, Column, Figure, Form, Panel, Row, Scale, Series, Table, idle_keep_off,
};

/// What is written in bursts, and all at once: from when on a loss is looked for, until when what came of it is,
/// and until when it is drawn, in seconds.
const SPANS: [(&str, [f64; 3]); 2] = [(BURSTS, [61.0, 64.0, 70.0]), (CONTINUOUS, [2.0, 6.0, 6.0])];
pub(super) const BURSTS: &str = "bursts";
pub(super) const CONTINUOUS: &str = "continuous";
pub(super) const ISOLATED: &str = "isolated";
pub(super) const FIVE: &str = "five";
const THEN: &str = "Linux 2.6.33";
/// What is left of the window by an algorithm's decrease alone.
const LEFT: [(&str, f64); 4] =
    [("kk_cubic", 0.7), ("kk_reno", 0.5), ("kk_scalable", 0.875), ("kk_hybla", 0.5)];

/// A window over time, and what a loss did to it.
pub(super) struct Window {
    stack: String,
    data: String,
    lost: String,
    algorithm: &'static str,
    initial: f64,
    points: Vec<(f64, f64)>,
    /// Just before the loss.
    before: f64,
    /// The lowest that came of it.
    lowest: f64,
}

/// Those of every scenario.
pub(super) fn watch(scenarios: &[Scenario]) -> Result<Vec<Window>, Error> {
    let mut windows = Vec::new();
    for (stack, controls) in [(THEN, idle_keep_off()), ("Linux 6", Controls::default())] {
        let of_stack =
            |it: &&Scenario| it.swept.get("stack.name").is_some_and(|name| name == stack);
        let own: Vec<Scenario> = scenarios.iter().filter(of_stack).cloned().collect();
        let watched = sim::watch(&own, &controls, WindowWatch::default, |watch, _| watch.cwnd)?;
        let contests = own.iter().flat_map(|it| it.contenders.iter().map(move |who| (it, who)));
        windows.extend(contests.zip(watched).filter_map(|((scenario, contender), cwnd)| {
            let swept = |name: &str| scenario.swept.get(name).cloned();
            let data = swept("data.name")?;
            let (_, [from, until, shown]) = *SPANS.iter().find(|(name, _)| *name == data)?;
            let looked = within(&cwnd, [from, until]);
            let peak = (0..looked.len()).max_by(|a, b| looked[*a].1.total_cmp(&looked[*b].1))?;
            let after = looked[peak..].iter().map(|(_, cwnd)| *cwnd);
            Some(Window {
                stack: stack.into(),
                data,
                lost: swept("data.lost")?,
                algorithm: contender.name(),
                initial: f64::from(scenario.stack.initial_window),
                before: looked[peak].1,
                lowest: after.fold(f64::INFINITY, f64::min),
                points: within(&cwnd, [from, shown]),
            })
        }));
    }
    Ok(windows)
}

/// What a curve of steps is in a span of time, its beginning included.
fn within(cwnd: &[(f64, f64)], [from, to]: [f64; 2]) -> Vec<(f64, f64)> {
    let first = cwnd.iter().rfind(|(at, _)| *at <= from).map(|(_, cwnd)| (from, *cwnd));
    let rest = cwnd.iter().copied().filter(|(at, _)| (from..to).contains(at));
    first.into_iter().chain(rest).collect()
}

impl Window {
    fn is(&self, stack: &str, data: &str, lost: &str) -> bool {
        (&*self.stack, &*self.data, &*self.lost) == (stack, data, lost)
    }

    /// The lowest window over what the algorithm's decrease alone leaves.
    fn over_decrease(&self) -> Option<f64> {
        let (_, left) = LEFT.iter().find(|(name, _)| *name == self.algorithm)?;
        Some(self.lowest / (left * self.before))
    }
}

/// Of the windows of then: the highest of what an isolated loss left, over the initial window.
pub(super) fn over_initial(windows: &[Window], data: &str) -> Option<(f64, usize)> {
    let own = windows.iter().filter(|it| it.is(THEN, data, ISOLATED));
    let ratios: Vec<f64> = own.map(|it| it.lowest / it.initial).collect();
    Some((ratios.iter().copied().max_by(f64::total_cmp)?, ratios.len()))
}

/// Of the windows of then: the lowest of what a burst of losses left, over what the decrease alone would.
pub(super) fn over_decrease(windows: &[Window], data: &str) -> Option<(f64, usize)> {
    let own = windows.iter().filter(|it| it.is(THEN, data, FIVE));
    let ratios: Vec<f64> = own.filter_map(Window::over_decrease).collect();
    Some((ratios.iter().copied().min_by(f64::total_cmp)?, ratios.len()))
}

pub(super) fn table(windows: &[Window]) -> Table {
    let headings = [
        ("before", 0),
        ("lowest after", 0),
        ("lowest over the initial window", 2),
        ("lowest over what the decrease leaves", 2),
    ];
    let columns = headings.map(|(heading, digits)| Column::new(heading, digits));
    let title = "The window around a loss: segments (Figs 3-1 and 3-2)";
    let mut table = Table::new(title, "stack, data, lost, algorithm", columns);
    for window in windows {
        let Window { stack, data, lost, algorithm, initial, before, lowest, .. } = window;
        let cell = |value: f64| Cell::ours(Estimate { value, half_width: None }, 1);
        let over_decrease = window.over_decrease().map_or(Cell::word("-"), cell);
        let cells = vec![cell(*before), cell(*lowest), cell(lowest / initial), over_decrease];
        table.rows.push(Row::new(format!("{stack}, {data}, {lost}, {algorithm}"), cells));
    }
    table
}

pub(super) fn figures(windows: &[Window]) -> Vec<Figure> {
    let figure = |(data, [from, _, to]): (&str, [f64; 3])| {
        let mut panels = Vec::new();
        for stack in [THEN, "Linux 6"] {
            for (lost, title) in [(ISOLATED, "an isolated loss"), (FIVE, "five lost in a row")] {
                let own = windows.iter().filter(|it| it.is(stack, data, lost));
                let series: Vec<Series> = own.map(series).collect();
                if !series.is_empty() {
                    panels.push(Panel {
                        title: format!("{stack}: {title}"),
                        x: Axis::new("time, s", Scale::Between(from, to)),
                        y: Axis::new("cwnd, segments", Scale::FromZero),
                        series,
                    });
                }
            }
        }
        let what = if data == BURSTS { "64 KB every 2 s" } else { "4 MiB at once" };
        Figure {
            title: format!("The window around a loss, {what} (Figs 3-1 and 3-2)"),
            about: "The thesis says that an isolated loss leaves a window near the initial one, and a burst of \
                    losses one that is smaller by the algorithm's decrease alone."
                .into(),
            panels,
        }
    };
    SPANS.into_iter().map(figure).filter(|figure| !figure.panels.is_empty()).collect()
}

fn series(window: &Window) -> Series {
    let name = window.algorithm.trim_start_matches("kk_");
    let point = |(at, cwnd): &(f64, f64)| (*at, Estimate { value: *cwnd, half_width: None });
    Series::ours(name, Form::Line, window.points.iter().map(point))
}
