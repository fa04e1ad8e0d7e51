//! What of the published results has to hold, and what is found: docs/studies.md.

use anyhow::Context;
use kirikae_studies::{Findings, STUDIES, Study};

use crate::places::{Remade, seeded};
use crate::{markdown, root};

/// The scenarios and printed numbers.
pub const DATA: &[&str] = &["studies"];
/// Those that are rebuilt soonest.
const SHORT: [&str; 4] = ["handover", "large-bdp", "reordering", "thesis-wimax"];

/// Rebuilds all of them.
pub fn make() -> anyhow::Result<Vec<Option<String>>> {
    let mut rows = Vec::new();
    for study in STUDIES {
        eprintln!("    {}", study.name);
        rows.extend(criteria(&rebuilt(study)?));
    }
    let heading = ["study", "what", "of", "asked", "found", ""];
    Ok(vec![Some(markdown::table(&heading, rows))])
}

fn rebuilt(study: Study) -> anyhow::Result<Findings> {
    let material = study.material(&root().join("studies"), false)?;
    study.compare(&material).with_context(|| study.name)
}

/// A row for each criterion.
fn criteria(findings: &Findings) -> Vec<Vec<String>> {
    let row = |it: &kirikae_studies::Criterion| {
        let asked = it.asked().unwrap_or_else(|| "-".into());
        let (study, of) = (findings.study.to_owned(), it.of.to_string());
        vec![study, it.what.clone(), of, asked, it.found(), it.verdict().into()]
    };
    findings.criteria.iter().map(row).collect()
}

/// One of the short ones is rebuilt, and each of its criteria compared.
pub fn places(seed: u64, text: &str) -> anyhow::Result<Vec<Remade>> {
    let [name] = seeded(SHORT.to_vec(), 1, seed)[..] else { unreachable!("one is asked for") };
    let findings = rebuilt(Study::named(name).with_context(|| format!("no study {name}"))?)?;
    let place = |cells: Vec<String>| {
        let (of, now) = (cells[..2].join(": "), format!("| {} |", cells.join(" | ")));
        let begin = format!("| {} | ", cells[..2].join(" | "));
        let written = text.lines().find(|line| line.starts_with(&begin)).unwrap_or_default();
        Remade { of, written: written.into(), now }
    };
    Ok(criteria(&findings).into_iter().map(place).collect())
}
