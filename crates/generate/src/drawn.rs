//! `scenarios/found/drawn.csv`, the paths on which a search found that Kirikae loses; and the figures of
//! docs/search.md.

use std::fmt::Write as _;

use anyhow::{Context, ensure};
use kirikae_scenario::{Contender, Controls};
use kirikae_simlab::search::{self, Options, Report};

use crate::markdown;
use crate::places::{Remade, seeded};

const HEADING: &str = "path,ratio";
/// Rows that are played again.
const PLACES: usize = 20;

/// `kirikae-lab search` as it is preset.
fn options() -> Options {
    Options {
        seed: 1,
        count: 10_000,
        climbs: 16,
        generations: search::GENERATIONS,
        new_connections: None,
        than: vec![Contender::BASELINE],
        loss: 1.1,
        output: None,
        controls: Controls::default(),
    }
}

/// Searches.
pub fn make() -> anyhow::Result<Vec<Option<String>>> {
    let report = search::run(&options())?;
    ensure!(!report.interrupted, "interrupted");
    let found = report.finds.iter().map(|find| &find.found).filter(|found| !found.changed);
    let mut drawn: Vec<u64> = found.map(|found| found.path).collect();
    drawn.sort_unstable();
    let mut rows = format!("{HEADING}\n");
    for path in &drawn {
        writeln!(rows, "{}", row(*path)?)?;
    }
    Ok(vec![Some(rows), Some(page(&report, drawn.len()))])
}

/// A path, and Kirikae's mean latency over stock cubic's where it is played once.
fn row(path: u64) -> anyhow::Result<String> {
    let verdict = search::first(&options(), path)?;
    Ok(format!("{path},{:.3}", verdict.ratio.value))
}

fn page(report: &Report, drawn: usize) -> String {
    let percent = |q: f64| match q {
        0.0 => "least".into(),
        0.5 => "median".into(),
        1.0 => "most".into(),
        q => format!("{} %", q * 100.0),
    };
    let heading: Vec<String> = report.quantiles.iter().map(|(q, _)| percent(*q)).collect();
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let ratios = report.quantiles.iter().map(|(_, ratio)| format!("{ratio:.3}")).collect();
    format!(
        "{}\nIt is above 1 on {:.1} % of them. {} were played again, {} tested with {:.3} % confidence \
         each: {} finds, {drawn} of\nthem as drawn ({:.1} % of the paths), {} by climbing.\n",
        markdown::table(&heading, [ratios]),
        report.above_1 * 100.0,
        report.suspects,
        report.tested,
        report.confidence * 100.0,
        report.finds.len(),
        drawn as f64 / report.paths as f64 * 100.0,
        report.finds.len() - drawn,
    )
}

/// Seeded rows as they are and as they come out now.
pub fn places(seed: u64, text: &str) -> anyhow::Result<Vec<Remade>> {
    let again = |written: &str| {
        let path = written.split(',').next().context("a path")?;
        Ok(Remade { of: format!("path {path}"), written: written.into(), now: row(path.parse()?)? })
    };
    seeded(text.lines().skip(1).collect(), PLACES, seed).into_iter().map(again).collect()
}
