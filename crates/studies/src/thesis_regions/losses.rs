//! RTT and isolated loss, also beyond the thesis' tables (6.4.1 and 6.4.2).

use std::collections::BTreeMap;

use super::super::{Axis, Figure, Form, Panel, Scale, Series};
use super::contest::{Contest, Entry, Order};

/// Where Hybla is said to be best, whatever the RTT from 200 ms on (6.4.2).
const HEAVY: f64 = 0.1;
const FROM_MS: f64 = 200.0;
/// Who is drawn.
const SHOWN: [&str; 6] = ["hybla", "scalable", "cubic", "westwood", "reno", "r-tcp"];

/// The loss rate, where that is what the scenario is about.
pub(super) fn loss(contest: &Contest) -> Option<f64> {
    contest.swept("loss").parse().ok()
}

/// The algorithm in use after most bursts, and the share of them.
pub(super) fn taken(entry: &Entry) -> Option<(String, f64)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let bursts = entry.runs.iter().flat_map(|run| &run.bursts);
    for burst in bursts {
        *counts.entry(burst.algorithm_after.trim_start_matches("kk_")).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let (name, n) = counts.into_iter().max_by_key(|(_, n)| *n)?;
    Some((name.to_owned(), n as f64 / all as f64))
}

/// What the thesis says that R-TCP takes at a place (6.4.1); nothing of some places.
fn said(contest: &Contest) -> Option<&'static [&'static str]> {
    let (rtt_ms, loss) = (contest.rtt_ms(), loss(contest)?);
    match loss {
        _ if loss < 0.001 && rtt_ms >= 170.0 => Some(&["hybla"]),
        _ if (0.01..HEAVY).contains(&loss) && rtt_ms >= 800.0 => Some(&["hybla"]),
        _ if (0.01..HEAVY).contains(&loss) && rtt_ms <= 170.0 => Some(&["scalable", "westwood"]),
        _ => None,
    }
}

/// At how many places it takes that most, and of how many.
pub(super) fn taken_as_said(contests: &[Contest]) -> (usize, usize) {
    let places = contests.iter().filter_map(|contest| {
        let (name, _) = contest.switched().and_then(taken)?;
        Some(said(contest)?.contains(&&*name))
    });
    places.fold((0, 0), |(so, all), is_so| (so + usize::from(is_so), all + 1))
}

/// The places at which it takes something else than Hybla most.
pub(super) fn without_hybla<'a, 'b>(contests: &'a [Contest<'b>]) -> Vec<&'a Contest<'b>> {
    let takes_another = |contest: &&Contest| {
        let most = contest.switched().and_then(taken);
        loss(contest).is_some_and(|loss| loss <= HEAVY)
            && most.is_some_and(|(name, _)| name != "hybla")
    };
    contests.iter().filter(takes_another).collect()
}

/// At how many of the places with heavy losses and long round trips Hybla is the best, surely; and of how many.
pub(super) fn hybla_best(contests: &[Contest], margin: f64) -> (usize, usize) {
    let here = contests.iter().filter(|contest| {
        loss(contest).is_some_and(|loss| loss >= HEAVY) && contest.rtt_ms() >= FROM_MS
    });
    let is_best = |contest: &Contest| {
        let hybla = contest.named("hybla")?;
        let mut others = contest.fixed().filter(|other| other.contender != hybla.contender);
        Some(others.all(|other| hybla.against(other, margin) == Order::Less))
    };
    here.fold((0, 0), |(best, all), contest| {
        (best + usize::from(is_best(contest) == Some(true)), all + 1)
    })
}

/// Figs 6-23 and 6-24.
pub(super) fn figure(contests: &[Contest], stack: &str) -> Option<Figure> {
    let panel = |(rate, figure): (f64, &str)| {
        let here = || {
            let is_here = move |it: &&Contest| loss(it) == Some(rate) && it.rtt_ms() >= FROM_MS;
            contests.iter().filter(is_here)
        };
        let names = here().next()?.entries.iter().map(Entry::name);
        let curve = |name: String| {
            let points = here()
                .filter_map(|contest| Some((contest.rtt_ms(), contest.named(&name)?.estimate()?)));
            Series::ours(name.clone(), Form::Curve, points)
        };
        Some(Panel {
            title: format!("{} % lost ({figure})", rate * 100.0),
            x: Axis::new("RTT, ms", Scale::Log),
            y: Axis::new("latency, s", Scale::Log),
            series: names.filter(|name| SHOWN.contains(&&**name)).map(curve).collect(),
        })
    };
    let panels: Vec<Panel> =
        [(0.1, "Fig. 6-23"), (0.5, "Fig. 6-24")].into_iter().filter_map(panel).collect();
    (!panels.is_empty()).then(|| Figure {
        title: format!("Latency beyond the tables, {stack} (Figs 6-23 and 6-24)"),
        about: "64 KB every 2 s; where that does not fit the path, the next burst waits for the one before.".into(),
        panels,
    })
}
