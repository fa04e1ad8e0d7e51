//! Maps: who is best at each place, and where switching is better or worse than that.

use std::collections::BTreeMap;

use super::super::{Axis, Figure, Form, Panel, Scale, Series};
use super::claims::burst_kib;
use super::contest::{Contest, Order};
use super::losses::{loss, taken};
use super::overall::at_best;

/// Where no fixed algorithm is surely below each other.
const ALIKE: &str = "= (several alike)";
/// Beside the letters of a field.
const CORNER: (f64, f64) = (0.34, 0.32);
const REGIONS: [(&str, &str); 3] =
    [("few losses", "Fig. 3-5"), ("bursts of loss", "Fig. 3-8"), ("isolated loss", "Fig. 3-11")];

/// How a map is drawn.
struct Axes {
    /// What is along its x axis, of which value a place is there, and how that is written.
    what: &'static str,
    x: fn(&Contest) -> f64,
    text: fn(f64) -> String,
    /// Whether it is marked where switching is better or worse.
    marks: bool,
}

/// The places of a map: what stands along both axes.
struct Places {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Places {
    fn of(contests: &[&Contest], x: fn(&Contest) -> f64) -> Places {
        let all = |of: fn(&Contest) -> f64| {
            let mut all: Vec<f64> = contests.iter().map(|contest| of(contest)).collect();
            all.sort_by(f64::total_cmp);
            all.dedup();
            all
        };
        Places { x: all(x), y: all(|contest| contest.rtt_ms()) }
    }

    fn at(&self, contest: &Contest, x: fn(&Contest) -> f64) -> (f64, f64) {
        let place = |all: &[f64], value: f64| all.iter().position(|it| *it == value).unwrap_or(0);
        (place(&self.x, x(contest)) as f64, place(&self.y, contest.rtt_ms()) as f64)
    }
}

/// A map on which each place has what `label` says of it.
fn map(
    title: String,
    contests: &[&Contest],
    margin: f64,
    axes: &Axes,
    label: impl Fn(&Contest) -> String,
) -> Panel {
    let Axes { what, x, text, marks: marked } = *axes;
    let places = Places::of(contests, x);
    let mut fields: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut marks: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for contest in contests {
        let (x, y) = places.at(contest, x);
        fields.entry(label(contest)).or_default().push((x, y));
        let mark = match at_best(contest, margin) {
            Some(Order::Less) => "switching is better",
            Some(Order::More) => "switching is worse",
            _ => continue,
        };
        marks.entry(mark).or_default().push((x + CORNER.0, y + CORNER.1));
    }
    let series = |form: Form| {
        move |(name, points): (String, Vec<(f64, f64)>)| Series::places(name, form, points)
    };
    let marks = marks.into_iter().filter(|_| marked);
    let marks = marks.map(|(name, points)| (name.to_owned(), points)).map(series(Form::Dots));
    let names = |all: &[f64], text: fn(f64) -> String| {
        Scale::Names(all.iter().map(|value| text(*value)).collect())
    };
    Panel {
        title,
        x: Axis::new(what, names(&places.x, text)),
        y: Axis::new("RTT, ms", names(&places.y, |rtt| rtt.to_string())),
        series: fields.into_iter().map(series(Form::Fields)).chain(marks).collect(),
    }
}

fn winner(contest: &Contest, margin: f64) -> String {
    contest.winner(margin).map_or(ALIKE.into(), |winner| winner.name())
}

fn size(kib: f64) -> String {
    if kib < 1024.0 { format!("{kib} KiB") } else { format!("{} MiB", kib / 1024.0) }
}

/// Figs 3-5, 3-8 and 3-11.
pub(super) fn regions(contests: &[Contest], stack: &str, own: &str, margin: f64) -> Option<Figure> {
    let axes = Axes { what: "burst", x: burst_kib, text: size, marks: true };
    let panel = |(region, figure): (&str, &str)| {
        let here: Vec<&Contest> =
            contests.iter().filter(|it| it.swept("region.name") == region).collect();
        let title = format!("{region} ({figure})");
        (!here.is_empty()).then(|| map(title, &here, margin, &axes, |it| winner(it, margin)))
    };
    let panels: Vec<Panel> = REGIONS.into_iter().filter_map(panel).collect();
    (!panels.is_empty()).then(|| Figure {
        title: format!("Who is best by RTT and burst size, {stack}"),
        about: format!(
            "The fixed algorithm whose latency is surely below that of each other. A mark in the corner: \
             {own} is surely below all of them, or above the best. A small round trip is below 200 ms, a \
             small burst at most 64 KiB."
        ),
        panels,
    })
}

/// Fig. 6-22, and who is best there.
pub(super) fn losses(contests: &[Contest], stack: &str, own: &str, margin: f64) -> Option<Figure> {
    let here: Vec<&Contest> = contests.iter().filter(|it| loss(it).is_some()).collect();
    let axis = |contest: &Contest| loss(contest).unwrap_or(0.0);
    let percent = |loss: f64| format!("{} %", (loss * 1e6).round() / 1e4);
    let axes = |marks| Axes { what: "isolated loss", x: axis, text: percent, marks };
    let most = |contest: &Contest| contest.switched().and_then(taken).unwrap_or_default().0;
    (!here.is_empty()).then(|| Figure {
        title: format!("RTT and isolated loss, 64 KB every 2 s, {stack} (Fig. 6-22)"),
        about: format!(
            "The fixed algorithm whose latency is surely below that of each other, with a mark where {own} is \
             surely below all of them or above the best; and the algorithm in use after most bursts of {own}."
        ),
        panels: vec![
            map("who is best".into(), &here, margin, &axes(true), |it| winner(it, margin)),
            map(format!("what {own} takes"), &here, margin, &axes(false), most),
        ],
    })
}
