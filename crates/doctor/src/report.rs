//! Writes the report for people.

use kirikae_terminal::{Cell, Color, table};

use crate::units::{percent, rate, size, time};
use crate::{Finding, Known, Report, Source, Verdict};

/// The report: a line for each finding, and below the lines what to change.
pub fn render(report: &Report, colour: bool) -> String {
    let path = &report.path;
    let mut text = format!(
        "Path: {}, RTT {}, {}; a path's content is {}. Bursts of {}.\n",
        known(path.rate, rate),
        known(path.rtt, time),
        path.loss.map_or("loss unknown".into(), |loss| format!("loss {}", known(loss, percent))),
        size(path.bandwidth_delay()),
        size(path.burst.into()),
    );
    let mut table = table(["", "what", "measured", "what it means here", "by"]);
    table.add_rows(report.findings.iter().map(row));
    kirikae_terminal::colour(&mut table, colour);
    text += &format!("{table}\n");

    let changes = |finding: &&Finding| !finding.change.is_empty();
    if report.findings.iter().any(|finding| changes(&finding)) {
        text += "\nTo change it (nothing was changed; `sysctl -w` lasts until the next boot, a file in \
                 /etc/sysctl.d for good):\n";
    }
    for finding in report.findings.iter().filter(changes) {
        for (place, change) in finding.change.iter().enumerate() {
            let name = if place == 0 { finding.name } else { "" };
            text += &format!("  {name:<20}{change}\n");
        }
    }
    text
}

fn known(Known { value, source }: Known, unit: fn(f64) -> String) -> String {
    let from = match source {
        Source::Given => "",
        Source::Measured => " (measured)",
        Source::Assumed => " (assumed)",
    };
    format!("{}{from}", unit(value))
}

fn row(finding: &Finding) -> Vec<Cell> {
    let colour = match finding.verdict {
        Verdict::Limits => Some(Color::Red),
        Verdict::Note => Some(Color::Yellow),
        Verdict::Fine => Some(Color::Green),
        Verdict::Unknown => None,
    };
    let verdict = Cell::new(finding.verdict.word());
    let verdict = colour.into_iter().fold(verdict, Cell::fg);
    let words = [finding.name, &finding.measured, &finding.effect, finding.formula.unwrap_or("")];
    std::iter::once(verdict).chain(words.map(Cell::new)).collect()
}
