//! What was found, as people read it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use kirikae_results::report::estimate;
use kirikae_terminal::{Cell, columns, figures, wrapped, wrapped_to};

use super::examination::{AGAIN, CONFIRMED};
use super::{BURSTS, MISTAKE, Report, Tried};

const COLUMNS: [&str; 6] = ["path", "what", "ratio ± 95 %", "n", "kirikae", "other"];
/// How wide the columns of [`COLUMNS`] are beside what a path is.
const FIGURES: usize = 66;
/// Finds that are listed; files and JSON have all.
const LISTED: usize = 20;

/// The whole report as text.
pub fn render(report: &Report, colour: bool) -> String {
    let names: Vec<&str> = report.than.iter().map(|contender| contender.name()).collect();
    let than = match &names[..] {
        [only] => (*only).to_owned(),
        several => format!("the best of {}", several.join(", ")),
    };
    let connections = report.new_connections.map_or(String::new(), |start| {
        format!(", each on a new connection ({} start)", start.name())
    });
    let mut text = format!(
        "{} paths of seed {}, {BURSTS} bursts on each{connections}:\nmean latency of kirikae over that \
         of {than}\n",
        report.paths, report.seed,
    );
    let heads: Vec<String> =
        report.quantiles.iter().map(|(q, _)| format!("{} %", q * 100.0)).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let ratios = report.quantiles.iter().map(|(_, ratio)| Cell::new(format!("{ratio:.3}")));
    text += &figures(&heads, std::iter::once(ratios.collect()), 0, colour);
    text += &wrapped(&format!(
        "Above 1 on {:.2} % of them, played once. {} were played again, {} times with other seeds; {} \
         of these and of what was climbed to from the worst were tested, {} times each.",
        report.above_1 * 100.0,
        report.suspects,
        AGAIN.repetitions,
        report.tested,
        CONFIRMED.repetitions,
    ));
    text.push('\n');
    if report.finds.is_empty() {
        text +=
            &format!("No path was found on which kirikae takes {} times as long.\n", report.loss);
    } else {
        text += &wrapped(&format!(
            "{} finds: at least {} times as long, and above 1 with {:.4} % confidence each, so that any \
             of them is chance with {} %",
            report.finds.len(),
            report.loss,
            report.confidence * 100.0,
            MISTAKE * 100.0,
        ));
        let rows = report.finds.iter().take(LISTED).map(|find| row(&find.reduced));
        text += &figures(&COLUMNS, rows, 2, colour);
        text += &kinds(report, colour);
    }
    if !report.worst.is_empty() {
        text += "\nThe worst that are none, as they were when played again:\n";
        text += &figures(&COLUMNS, report.worst.iter().map(row), 2, colour);
    }
    if report.interrupted {
        text += "INTERRUPTED: the figures are of what had been played until then.\n";
    }
    text + &format!("{:.0} s\n", report.wall_s)
}

/// What the finds need to lose, and how many need it.
fn kinds(report: &Report, colour: bool) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for find in &report.finds {
        let parts = find.reduced.parts.join(", ");
        *kinds.entry(if parts.is_empty() { "none".into() } else { parts }).or_default() += 1;
    }
    let mut kinds: Vec<(String, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, finds)| Reverse(*finds));
    let rows = kinds.iter().map(|(parts, finds)| vec![Cell::new(parts), Cell::new(finds)]);
    figures(&["beside bursts, a link and its queue", "finds"], rows, 1, colour)
}

fn row(tried: &Tried) -> Vec<Cell> {
    let verdict = &tried.verdict;
    let cells = [
        tried.path.to_string(),
        wrapped_to(columns().saturating_sub(FIGURES).max(20), &tried.title),
        estimate(Some(verdict.ratio), 3),
        verdict.repetitions.to_string(),
        format!("{:.3}", verdict.mean_s),
        format!("{} {:.3}", verdict.best, verdict.best_mean_s),
    ];
    cells.map(Cell::new).to_vec()
}
