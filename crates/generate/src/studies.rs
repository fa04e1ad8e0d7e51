//! What of the published results has to hold, and what is found: docs/studies.md.

use anyhow::Context;
use kirikae_studies::{Criterion, Findings, JudgedPaper, Run, STUDIES, Study, Verdict};

use crate::places::{Remade, seeded};
use crate::{markdown, root};

/// The scenarios and printed numbers.
pub const DATA: &[&str] = &["studies"];
/// Those that are rebuilt soonest.
const SHORT: [&str; 3] = ["handover", "reordering", "thesis-remedies"];

/// Rebuilds all of them: their criteria, and what becomes of the papers' claims.
pub fn make() -> anyhow::Result<Vec<Option<String>>> {
    let all = rebuilt_all()?;
    let heading = ["study", "what", "of", "asked", "found", ""];
    let table = markdown::table(&heading, all.iter().flat_map(criteria));
    Ok(vec![Some(table), Some(claims(&all)?)])
}

fn rebuilt_all() -> anyhow::Result<Vec<Findings>> {
    let each = STUDIES.iter().map(|study| {
        eprintln!("    {}", study.name);
        rebuilt(study)
    });
    each.collect()
}

fn rebuilt(study: &Study) -> anyhow::Result<Findings> {
    let material = study.material(&root().join("studies"), Run::default())?;
    study.compare(&material).with_context(|| study.name)
}

/// For each paper a list of what it claims and what became of it.
fn claims(all: &[Findings]) -> anyhow::Result<String> {
    let papers = kirikae_studies::papers(&root().join("studies"))?;
    let papers: Vec<JudgedPaper> = papers.iter().map(|paper| paper.judged(all)).collect();
    let count = |verdict| papers.iter().map(|paper| paper.count(verdict)).sum::<usize>();
    let verdicts = [Verdict::Reproduced, Verdict::Contradicted, Verdict::Untested];
    let row = |name: &str, of: usize, count: &dyn Fn(Verdict) -> usize| {
        let counts = verdicts.map(|verdict| count(verdict).to_string());
        [vec![name.to_owned(), of.to_string()], counts.to_vec()].concat()
    };
    let each = papers
        .iter()
        .map(|paper| row(&paper.title, paper.claims.len(), &|verdict| paper.count(verdict)));
    let of = papers.iter().map(|paper| paper.claims.len()).sum();
    let heading = ["paper", "claims", "reproduced", "contradicted", "untested"];
    let mut text = markdown::table(&heading, each.chain([row("all", of, &count)]));
    for paper in &papers {
        let rows = paper.claims.iter().map(|claim| {
            let verdict = claim.verdict.map_or("not judged".into(), |it| it.to_string());
            let note = claim.note.as_ref().map_or(String::new(), |note| format!(". {note}"));
            vec![
                claim.place.clone(),
                claim.what.clone(),
                verdict,
                format!("{}{note}", claim.because),
            ]
        });
        let heading = ["where", "claim", "", "by"];
        text += &format!("\n## {}\n\n{}", paper.title, markdown::table(&heading, rows));
    }
    Ok(text)
}

/// A row for each criterion.
fn criteria(findings: &Findings) -> Vec<Vec<String>> {
    let row = |it: &Criterion| {
        let asked = it.asked().unwrap_or_else(|| "-".into());
        let (study, of) = (findings.study.to_owned(), it.of.to_string());
        vec![study, it.what.clone(), of, asked, it.found(), it.verdict().into()]
    };
    findings.criteria.iter().map(row).collect()
}

/// One of the short ones is rebuilt, and each of its criteria compared.
pub fn places(seed: u64, text: &str) -> anyhow::Result<Vec<Remade>> {
    let [name] = seeded(SHORT.to_vec(), 1, seed)[..] else { unreachable!("one is asked for") };
    let study = Study::named(name).with_context(|| format!("no study {name}"))?;
    let findings = rebuilt(study)?;
    let place = |cells: Vec<String>| {
        let (of, now) = (cells[..2].join(": "), format!("| {} |", cells.join(" | ")));
        let begin = format!("| {} | ", cells[..2].join(" | "));
        let written = text.lines().find(|line| line.starts_with(&begin)).unwrap_or_default();
        Remade { of, written: written.into(), now }
    };
    Ok(criteria(&findings).into_iter().map(place).collect())
}
