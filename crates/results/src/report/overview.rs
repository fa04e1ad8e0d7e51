//! Writes several scenarios for people: the best fixed contender of each, and how far the others were from it
//! over all of them.

use kirikae_scenario::Contender;
use kirikae_terminal::{Cell, figures};

use super::ratio;
use crate::summary::{Extreme, GOOD, Overview, ScenarioSummary, Summary};

/// Both tables and their notes; empty if there is no overview.
pub(super) fn render(summary: &Summary, colour: bool) -> String {
    if summary.overview.is_empty() {
        return String::new();
    }
    let numbered: Vec<(usize, &ScenarioSummary)> =
        (1..).zip(summary.scenarios.iter().filter(|it| it.best_fixed.is_some())).collect();
    let number = |extreme: &Extreme| {
        let own = numbered.iter().find(|(_, scenario)| scenario.title == extreme.scenario);
        own.map_or("-".into(), |(number, _)| format!("#{number}"))
    };
    let mut text = format!(
        "Regret over {} scenarios: mean latency over that of the best fixed contender of the same \
         scenario\n",
        numbered.len()
    );
    text += &scenarios(&numbered, &summary.overview, colour);
    let rows = summary.overview.iter().map(|it| cells(it, number).map(Cell::new).to_vec());
    let good = format!("≤ {GOOD}");
    let columns = [
        "contender",
        "n",
        "mean",
        "median",
        "p95",
        "worst",
        "in",
        &good,
        "worst vs cubic",
        "in",
        "unfinished",
    ];
    text += &figures(&columns, rows, 1, colour);
    text.push('\n');
    text
}

fn cells(it: &Overview, number: impl Fn(&Extreme) -> String) -> [String; 11] {
    let over_cubic = it.worst_over_cubic.as_ref();
    [
        it.contender.to_string(),
        it.scenarios.to_string(),
        format!("{:.3}", it.mean),
        format!("{:.3}", it.median),
        format!("{:.3}", it.p95),
        ratio(Some(it.worst.ratio)),
        number(&it.worst),
        format!("{:.0} %", it.good * 100.0),
        ratio(over_cubic.map(|extreme| extreme.ratio)),
        over_cubic.map_or("-".into(), number),
        it.unfinished.to_string(),
    ]
}

/// A row for each scenario with the regrets of stock cubic and of the contenders that are switched.
fn scenarios(
    numbered: &[(usize, &ScenarioSummary)],
    overview: &[Overview],
    colour: bool,
) -> String {
    let shown: Vec<Contender> = overview
        .iter()
        .map(|it| it.contender)
        .filter(|contender| *contender == Contender::BASELINE || contender.is_switched())
        .collect();
    let mut columns = vec!["scenario", "best fixed", "latency"];
    columns.extend(shown.iter().map(|contender| contender.name()));
    let rows = numbered.iter().map(|(number, scenario)| {
        let of = |contender| scenario.contenders.iter().find(|it| it.contender == contender);
        let best = scenario.best_fixed.expect("those without are left out");
        let mean_s = of(best).and_then(|it| it.mean_s);
        let mut row = vec![
            format!("#{number} {}", scenario.title),
            best.to_string(),
            mean_s.map_or("-".into(), |mean| format!("{:.3}", mean.value)),
        ];
        row.extend(shown.iter().map(|contender| {
            ratio(of(*contender).and_then(|it| it.over_best_fixed).map(|regret| regret.value))
        }));
        row.into_iter().map(Cell::new).collect()
    });
    figures(&columns, rows, 2, colour)
}
