//! Section 4.7.1, Fig. 4-25: what algorithms carry by the loss rate, and which come down to reno.

use super::{
    Axis, Cell, Column, Curve, Figure, Found, Key, Panel, R_TCP, RESTRICTED, Row, Scale, Table,
    named,
};
use crate::definition::Definition;

pub(super) const ALIKE: Key = Key::with("like-reno", &["algorithms"]);
pub(super) const ALL: Key = Key::with("over-reno", &["factors"]);
pub(super) const RESTRICTED_OVER: Key = Key::with("restricted-over-reno", &["factors"]);

pub(super) fn table(stack: &str, curves: &[Curve]) -> Table {
    let columns = curves.iter().map(|curve| Column::new(curve.name.clone(), 3));
    let title = format!("Throughput by loss rate, RTT 100 ms, {stack}: Mbit/s (Fig. 4-25)");
    let mut table = Table::new(title, "loss rate", columns);
    let losses = curves.first().map_or(&[][..], |curve| &curve.points);
    for (loss, ..) in losses {
        let cell = |curve: &Curve| {
            curve.at(*loss).map_or(Cell::word("-"), |(ours, n)| Cell::ours(ours, n))
        };
        table.rows.push(Row::new(loss.to_string(), curves.iter().map(cell).collect()));
    }
    table
}

pub(super) fn figure(old: &[Curve], new: &[Curve]) -> Figure {
    let panel = |title: &str, curves: &[Curve]| Panel {
        title: title.into(),
        x: Axis::new("loss rate", Scale::Log),
        y: Axis::new("throughput, Mbit/s", Scale::Log),
        series: curves.iter().map(Curve::series).collect(),
    };
    Figure {
        title: "Response functions, RTT 100 ms (Fig. 4-25)".into(),
        about: "What one connection carries by the loss rate where nothing else limits it. The print has no \
                numbers; its claim is that many come down to Reno where losses are heavy, and some do not."
            .into(),
        panels: vec![panel("Linux 2.6.33", old), panel("Linux 6", new)],
    }
}

/// A curve over reno's, at each loss rate that is heavy.
fn over_reno(curve: &Curve, reno: &Curve, heavy: f64) -> Vec<f64> {
    let points = curve.points.iter().filter(|(loss, ..)| *loss >= heavy);
    points.filter_map(|(loss, value, _)| Some(value.value / reno.value(*loss)?)).collect()
}

/// The algorithms that are like reno at heavy loss, by name, and how many they are.
pub(super) fn like_reno(curves: &[Curve], definition: &Definition) -> (Vec<String>, Option<Found>) {
    let Some(reno) = named(curves, "kk_reno") else { return (Vec::new(), None) };
    let (most, heavy) = (definition.threshold("like-reno"), definition.threshold("heavy"));
    let others = curves.iter().filter(|curve| !["kk_reno", R_TCP].contains(&curve.name.as_str()));
    let factors = others.map(|curve| (curve, over_reno(curve, reno, heavy)));
    let factors: Vec<(&Curve, Vec<f64>)> = factors.filter(|(_, it)| !it.is_empty()).collect();
    let is_alike = |factors: &[f64]| factors.iter().all(|it| (1.0 / most) < *it && *it < most);
    let alike = factors.iter().filter(|(_, factors)| is_alike(factors));
    let alike: Vec<String> = alike.map(|(curve, _)| curve.name.clone()).collect();
    let found = Found::new(ALIKE, alike.len() as f64, factors.len());
    let found = found.word("algorithms", alike.join(", "));
    let found = (!factors.is_empty()).then_some(found);
    (alike, found)
}

/// How far R-TCP is from reno at heavy loss, where most: among all candidates, and among those that come down
/// to it.
pub(super) fn found(curves: &[Curve], definition: &Definition) -> Vec<Found> {
    let Some(reno) = named(curves, "kk_reno") else { return Vec::new() };
    let farthest = |(key, name): (Key, &str)| {
        let factors = over_reno(named(curves, name)?, reno, definition.threshold("heavy"));
        let away = factors.iter().map(|factor| factor.max(1.0 / factor)).max_by(f64::total_cmp)?;
        let texts: Vec<String> = factors.iter().map(|factor| format!("{factor:.2}")).collect();
        Some(Found::new(key, away, factors.len()).word("factors", texts.join(", ")))
    };
    [(ALL, R_TCP), (RESTRICTED_OVER, RESTRICTED)].into_iter().filter_map(farthest).collect()
}
