//! Connections that share a bottleneck: with different RTTs (section 4.7.2, Fig. 4-24), and beside reno (4.7.1,
//! Fig. 4-23).

use kirikae_results::outcome::Comparison;
use kirikae_results::play::Play;
use kirikae_results::statistics::{Estimate, fairness, mean, ratio_of_means};

use super::{
    Axis, CUBIC, Column, Figure, Form, Found, Key, NOW, Panel, R_TCP, RESTRICTED, Row, Scale,
    Series, THEN, Table,
};
use crate::wireless::{KIRIKAE, cell};

pub(super) const BESIDE_RENO: Key = Key::new("beside-reno");
pub(super) const RESTRICTED_BESIDE_RENO: Key = Key::new("restricted-beside-reno");
pub(super) const GAIN_THEN: Key = Key::with("competing-then", &["gain", "own", "cubic"]);
pub(super) const GAIN_NOW: Key = Key::with("competing-now", &["gain", "own", "cubic"]);
pub(super) const FAR: Key = Key::with("competing-far", &["shares"]);

/// The groups of flows, as the scenarios call them.
const NEAR: &str = "near";
const FAR_FLOWS: &str = "far";
const RENO: &str = "reno";

/// A contender's runs.
struct Own<'a> {
    name: &'static str,
    plays: &'a [Play],
}

fn contenders(comparison: &Comparison) -> impl Iterator<Item = Own<'_>> {
    let each = comparison.plays.chunk_by(|a, b| a.contender == b.contender);
    each.map(|plays| Own { name: plays[0].contender.name(), plays })
}

fn own<'a>(comparison: &'a Comparison, name: &str) -> Option<Own<'a>> {
    contenders(comparison).find(|own| own.name == name)
}

impl Own<'_> {
    /// Mbit/s of a group of flows together, run by run.
    fn goodputs(&self, group: &str) -> Vec<f64> {
        let of = |play: &Play| {
            let flows = play.flows.iter().filter(|flow| flow.flow == group);
            flows.filter_map(|flow| flow.goodput).sum::<f64>() / 1e6
        };
        self.plays.iter().map(of).collect()
    }

    /// Jain's index of all flows, run by run.
    fn indices(&self) -> Vec<f64> {
        let index = |play: &Play| {
            let goodputs: Vec<f64> = play.flows.iter().filter_map(|flow| flow.goodput).collect();
            fairness(&goodputs)
        };
        self.plays.iter().filter_map(index).collect()
    }

    /// What a group has of all that arrives, run by run.
    fn shares(&self, group: &str) -> Vec<f64> {
        let all =
            |play: &Play| play.flows.iter().filter_map(|flow| flow.goodput).sum::<f64>() / 1e6;
        let totals = self.plays.iter().map(all);
        self.goodputs(group).into_iter().zip(totals).map(|(own, all)| own / all).collect()
    }

    fn n(&self) -> usize {
        self.plays.len()
    }
}

/// The scenarios in which flows with different RTTs share a link, each with its longer RTT in ms.
fn by_rtt(shared: &[Comparison]) -> impl Iterator<Item = (f64, &Comparison)> {
    let far_ms = |comparison: &Comparison| {
        let scenario = &comparison.scenario;
        let far = scenario.flows.iter().find(|flow| flow.name == FAR_FLOWS)?;
        Some(far.base_rtt(&scenario.links).as_secs_f64() * 1e3)
    };
    shared.iter().filter_map(move |it| Some((far_ms(it)?.round(), it)))
}

/// That in which one kind of flows has reno.
fn beside_reno(shared: &[Comparison]) -> Option<&Comparison> {
    shared.iter().find(|it| it.scenario.flows.iter().any(|flow| flow.name == RENO))
}

/// The gain of Jain's index over cubic's, run by run, in the mean of the RTTs that differ.
fn gain(shared: &[Comparison], name: &str, cubic: &str) -> Option<Vec<f64>> {
    let differ = by_rtt(shared).skip(1);
    let gains = differ.filter_map(|(_, comparison)| {
        let (own, cubic) = (own(comparison, name)?.indices(), own(comparison, cubic)?.indices());
        Some(own.into_iter().zip(cubic).map(|(own, cubic)| own - cubic).collect::<Vec<f64>>())
    });
    let gains: Vec<Vec<f64>> = gains.collect();
    let runs = gains.iter().map(Vec::len).min()?;
    let mean = |run| gains.iter().map(|gains| gains[run]).sum::<f64>() / gains.len() as f64;
    Some((0..runs).map(mean).collect())
}

/// Jain's indices by RTT, in words.
fn indices(shared: &[Comparison], name: &str) -> String {
    let each = by_rtt(shared).skip(1);
    let index = |(_, comparison)| Some(mean(&own(comparison, name)?.indices())?.value);
    let texts: Vec<String> = each.filter_map(index).map(|index| format!("{index:.3}")).collect();
    texts.join(", ")
}

/// What reno keeps of what it has beside reno.
fn kept(comparison: &Comparison, beside: &Own) -> Option<Estimate> {
    let alone = own(comparison, "kk_reno")?.goodputs(RENO);
    let pairs: Vec<(f64, f64)> = beside.goodputs(RENO).into_iter().zip(alone).collect();
    ratio_of_means(&pairs)
}

pub(super) fn found(
    old: &[Comparison],
    restricted: &[Comparison],
    new: &[Comparison],
) -> Vec<Found> {
    let mut found = Vec::new();
    if let Some(comparison) = beside_reno(old) {
        let all = own(comparison, R_TCP);
        let some = beside_reno(restricted).and_then(|it| own(it, R_TCP));
        for (key, own) in [(BESIDE_RENO, all), (RESTRICTED_BESIDE_RENO, some)] {
            let Some(own) = own else { continue };
            let kept = kept(comparison, &own).map(|kept| Found::new(key, kept.value, own.n()));
            found.extend(kept);
        }
    }
    for (key, shared, name, cubic) in
        [(GAIN_THEN, old, R_TCP, CUBIC), (GAIN_NOW, new, KIRIKAE, "cubic")]
    {
        let Some(gains) = gain(shared, name, cubic) else { continue };
        let Some(Estimate { value, half_width: Some(half) }) = mean(&gains) else { continue };
        let least = Found::new(key, value - half, gains.len()).word("gain", format!("{value:.3}"));
        let least = least.word("own", indices(shared, name));
        found.push(least.word("cubic", indices(shared, cubic)));
    }
    let shares = by_rtt(old).skip(1).filter_map(|(_, comparison)| {
        Some(mean(&own(comparison, R_TCP)?.shares(FAR_FLOWS))?.value)
    });
    let shares: Vec<f64> = shares.collect();
    if let Some(least) = shares.iter().copied().min_by(f64::total_cmp) {
        let texts: Vec<String> = shares.iter().map(|share| format!("{share:.2}")).collect();
        found.push(Found::new(FAR, least, shares.len()).word("shares", texts.join(", ")));
    }
    found
}

pub(super) fn tables(
    old: &[Comparison],
    restricted: &[Comparison],
    new: &[Comparison],
) -> Vec<Table> {
    let rtts = [(THEN, old), (NOW, new)].into_iter().filter_map(|(host, shared)| {
        let (_, first) = by_rtt(shared).next()?;
        let columns = contenders(first).flat_map(|own| {
            let heading = |what| format!("{}: {what}", own.name);
            [Column::new(heading("Jain's index"), 3), Column::new(heading("share of the far"), 2)]
        });
        let title = format!(
            "Two flows of RTT 20 ms and two of a longer one share 20 Mbit/s, {host} (Fig. 4-24)"
        );
        let mut table = Table::new(title, "longer RTT, ms", columns.collect::<Vec<_>>());
        for (rtt, comparison) in by_rtt(shared) {
            let cells = contenders(comparison).flat_map(|own| {
                [own.indices(), own.shares(FAR_FLOWS)].map(|each| cell(mean(&each), own.n()))
            });
            table.rows.push(Row::new(rtt.to_string(), cells.collect()));
        }
        Some(table)
    });
    let columns = [
        Column::new("each of the reno flows, Mbit/s", 2),
        Column::new("each of the others, Mbit/s", 2),
        Column::new("reno over reno beside reno", 2),
    ];
    let title = "Two flows with reno beside two others, RTT 100 ms, 20 Mbit/s (Fig. 4-23)";
    let mut table = Table::new(title, "host, beside", columns);
    let hosts = [(THEN, old, old), (THEN, old, restricted), (NOW, new, new)];
    for (place, (host, base, shared)) in hosts.into_iter().enumerate() {
        let (Some(base), Some(shared)) = (beside_reno(base), beside_reno(shared)) else { continue };
        for own in contenders(shared) {
            let name = if place == 1 { RESTRICTED } else { own.name };
            let each = |group: &str| -> Vec<f64> {
                own.goodputs(group).into_iter().map(|both| both / 2.0).collect()
            };
            let cells = vec![
                cell(mean(&each(RENO)), own.n()),
                cell(mean(&each("other")), own.n()),
                cell(kept(base, &own), own.n()),
            ];
            table.rows.push(Row::new(format!("{host}, {name}"), cells));
        }
    }
    let beside = (!table.rows.is_empty()).then_some(table);
    rtts.chain(beside).collect()
}

pub(super) fn figure(old: &[Comparison], new: &[Comparison]) -> Option<Figure> {
    let panel = |(host, shared): (&str, &[Comparison])| {
        let (_, first) = by_rtt(shared).next()?;
        let series = contenders(first).map(|known| {
            let points = by_rtt(shared).filter_map(|(rtt, comparison)| {
                Some((rtt, mean(&own(comparison, known.name)?.indices())?))
            });
            Series::ours(known.name, Form::Curve, points)
        });
        Some(Panel {
            title: format!("As simulated, {host}"),
            x: Axis::new("longer RTT, ms", Scale::FromZero),
            y: Axis::new("Jain's index", Scale::Between(0.5, 1.02)),
            series: series.collect(),
        })
    };
    let panels: Vec<Panel> = [(THEN, old), (NOW, new)].into_iter().filter_map(panel).collect();
    (!panels.is_empty()).then(|| Figure {
        title: "Fairness of connections with different RTTs on one bottleneck (after Fig. 4-24)".into(),
        about: format!(
            "Two flows of RTT 20 ms ({NEAR}) and two of the RTT along the axis ({FAR_FLOWS}), all with the same \
             contender. The thesis draws the network and measures nothing on it."
        ),
        panels,
    })
}
