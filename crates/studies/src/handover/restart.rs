//! What a sender does when the link under it is back: how long it waits, whether a queue overflows, how its window
//! goes on. Tsukamoto and others tell it in words (section 5) beside Figs 2 to 6.

use kirikae_path::{Direction, Time};
use kirikae_scenario::{Controls, Scenario};
use kirikae_sim::{Observer, Passage, Step};
use kirikae_simlab::sim;

use super::super::watch::WindowWatch;
use super::super::{
    Axis, Cell, Column, Definition, Error, Figure, Form, Found, Key, Material, Panel, Row, Scale,
    Series, Table,
};
use super::{CASES, LINUX, PUBLISHED, SCHEMES, is, link_change, one, seconds};

pub(super) const WAITS: Key = Key::new("waits");
pub(super) const PLATEAU: Key = Key::new("plateau");
pub(super) const OVERFLOWS: Key = Key::new("overflows");
pub(super) const NO_OVERFLOWS: Key = Key::new("no-overflows");

/// What MIT waits for its timer, seconds, as the text has it: after the first return of the link, or after each
/// time it goes.
const TOLD: [(&str, Since, f64); 3] = [
    ("Wide to narrow", Since::Return, 0.5),
    ("Long disconnect", Since::Return, 2.5),
    ("Repeated", Since::Break, 1.0),
];

#[derive(Clone, Copy, PartialEq)]
enum Since {
    /// The link is back.
    Return,
    /// The link is gone: in the mean of all times.
    Break,
}

/// Watches the first flow: when its sender sends data, and when a queue has no room for it.
#[derive(Debug, Default)]
pub(super) struct RestartWatch {
    /// Seconds.
    sent: Vec<f64>,
    overflows: Vec<f64>,
}

impl Observer for RestartWatch {
    fn packet(&mut self, passage: Passage<'_>) {
        let forward = passage.hop.direction == Direction::Forward;
        if !forward || passage.flow != 0 || passage.segment.len == 0 {
            return;
        }
        let at = passage.at.as_nanos() as f64 / 1e9;
        match passage.step {
            Step::Enters if passage.hop.link == 0 => self.sent.push(at),
            Step::Dropped(cause) if !cause.is_channel_loss() => self.overflows.push(at),
            Step::Enters | Step::Leaves | Step::Dropped(_) => {}
        }
    }
}

/// A contender of a scenario, and what was seen of it.
pub(super) struct Watched<'a> {
    scenario: &'a Scenario,
    contender: &'static str,
    window: WindowWatch,
    restart: RestartWatch,
}

/// Plays every contender of every scenario.
pub(super) fn watch(material: &Material) -> Result<Vec<Watched<'_>>, Error> {
    let both = <(WindowWatch, RestartWatch)>::default;
    let seen = sim::watch(&material.scenarios, &Controls::default(), both, |seen, _| seen)?;
    let contests = material.scenarios.iter().flat_map(|scenario| {
        scenario.contenders.iter().map(move |contender| (scenario, contender.name()))
    });
    let watched = |((scenario, contender), (window, restart))| Watched {
        scenario,
        contender,
        window,
        restart,
    };
    Ok(contests.zip(seen).map(watched).collect())
}

fn find<'a>(
    all: &'a [Watched],
    case: &str,
    scheme: &str,
    (stack, contender): (&str, &str),
) -> Option<&'a Watched<'a>> {
    all.iter().find(|it| it.contender == contender && is(it.scenario, case, scheme, stack))
}

impl Watched<'_> {
    /// When the link goes and when it is back, each time, seconds.
    fn changes(&self) -> Vec<(f64, f64)> {
        let links = link_change(self.scenario).map_or(&[][..], |change| &change.links[1..]);
        let s = |at| seconds(Time::ZERO, at);
        links.iter().map(|link| (s(link.at), s(link.at + link.silence))).collect()
    }

    /// From when on until when the throughput is counted.
    fn window(&self) -> Option<(f64, f64)> {
        let window = self.scenario.measured.as_ref()?;
        Some((seconds(Time::ZERO, window.start), seconds(Time::ZERO, window.end)))
    }

    /// How long it waits before it sends, seconds.
    fn wait(&self, since: Since) -> Option<f64> {
        let changes = self.changes();
        let wait = |(gone, back): &(f64, f64)| {
            let sends = self.restart.sent.iter().find(|at| *at >= back)?;
            Some(sends - if since == Since::Return { back } else { gone })
        };
        let waits: Vec<f64> = changes.iter().filter_map(wait).collect();
        (!waits.is_empty()).then(|| waits.iter().sum::<f64>() / waits.len() as f64)
    }

    /// Segments for which a queue had no room while the throughput was counted and the link was back.
    fn overflows(&self) -> Option<usize> {
        let ((_, back), (_, end)) = (*self.changes().first()?, self.window()?);
        Some(self.restart.overflows.iter().filter(|at| (back..end).contains(*at)).count())
    }

    /// The longest time that the window stood still while data was sent, once the link was back, seconds.
    fn plateau(&self) -> Option<f64> {
        let ((_, back), (_, end)) = (*self.changes().first()?, self.window()?);
        let restart = *self.restart.sent.iter().find(|at| **at >= back)?;
        let mut changed = restart;
        let mut longest = 0.0_f64;
        let mut last = None;
        for (at, cwnd) in self.window.cwnd.iter().filter(|(at, _)| (restart..end).contains(at)) {
            if last.is_some_and(|last| last != *cwnd) {
                longest = longest.max(at - changed);
                changed = *at;
            }
            last = Some(*cwnd);
        }
        Some(longest.max(end - changed))
    }
}

/// What the text tells of the restart beside what was seen.
pub(super) fn told(all: &[Watched], definition: &Definition) -> (Vec<Found>, Vec<Table>) {
    let within = definition.threshold("wait-within");
    let column = "wait, s";
    let mut waits = Table::new(
        "How long MIT waits for its timer (sections 5.1.1, 5.2, 5.3)",
        "case, since",
        [Column::new(column, 2)],
    );
    for (case, since, printed) in TOLD {
        let found = find(all, case, SCHEMES[0].0, PUBLISHED).and_then(|it| it.wait(since));
        let Some(found) = found else { continue };
        let cell = Cell::compared(printed, one(found), 1);
        let agrees = (found - printed).abs() <= within;
        let since =
            if since == Since::Return { "the link is back" } else { "it is gone, mean of 4" };
        let heading = format!("{case}, since {since}");
        let why = definition.why(WAITS, &heading, column).filter(|_| !agrees).map(str::to_owned);
        waits.rows.push(Row::new(heading, vec![Cell { why, ..cell.judged(agrees) }]));
    }
    let case = CASES[0].0;
    let mut restarts = Table::new(
        format!("{case}: what follows when the link is back (section 5.1.1)"),
        "scheme",
        [
            Column::new("overflows of a queue, segments", 0),
            Column::new("window stands still, s", 2),
        ],
    );
    let mut seen = Vec::new();
    for (scheme, _, name) in &SCHEMES[..3] {
        let Some(it) = find(all, case, scheme, PUBLISHED) else { continue };
        let (Some(overflows), Some(plateau)) = (it.overflows(), it.plateau()) else { continue };
        let cells = vec![Cell::ours(one(overflows as f64), 1), Cell::ours(one(plateau), 1)];
        restarts.rows.push(Row::new(*name, cells));
        seen.push((overflows as f64, plateau));
    }
    let mut found = Vec::new();
    if !waits.rows.is_empty() {
        found.push(Found::cells(WAITS, &waits));
    }
    if let [mit, immediate, aware] = seen[..] {
        found.push(Found::new(PLATEAU, mit.1.min(immediate.1), 2));
        found.push(Found::new(OVERFLOWS, mit.0.min(immediate.0), 2));
        found.push(Found::new(NO_OVERFLOWS, aware.0, 1));
    }
    (found, vec![waits, restarts])
}

/// The window in each case, with the host that was rebuilt and with Linux.
pub(super) fn figures(all: &[Watched]) -> Vec<Figure> {
    let hosts = [("NewReno as rebuilt here", PUBLISHED), ("Linux 6, cubic", LINUX)];
    let figure = |(case, _, place): (&str, &str, &str)| {
        let panels = hosts.iter().filter_map(|(title, host)| panel(all, case, title, *host));
        let panels: Vec<Panel> = panels.collect();
        (!panels.is_empty()).then(|| Figure {
            title: format!("{case}: congestion window ({place})"),
            about:
                "All simulated: the curves of the print have no numbers. The change begins at 10 s."
                    .into(),
            panels,
        })
    };
    CASES.into_iter().filter_map(figure).collect()
}

fn panel(all: &[Watched], case: &str, title: &str, host: (&str, &str)) -> Option<Panel> {
    let mut series = Vec::new();
    let mut span = (0.0, 1.0);
    for (scheme, _, name) in &SCHEMES[..3] {
        let Some(found) = find(all, case, scheme, host) else { continue };
        span = found.window().unwrap_or(span);
        let shown = |(at, _): &&(f64, f64)| (span.0 - 1.0..span.1).contains(at);
        let points = found.window.cwnd.iter().filter(shown).map(|(at, cwnd)| (*at, one(*cwnd)));
        series.push(Series::ours(*name, Form::Line, points));
    }
    let panel = Panel {
        title: title.into(),
        x: Axis::new("time, s", Scale::Between(span.0 - 1.0, span.1)),
        y: Axis::new("cwnd, segments", Scale::FromZero),
        series,
    };
    (!panel.series.is_empty()).then_some(panel)
}
