//! `kirikae-lab reproduce`

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use kirikae_command::{print, tell};
use kirikae_studies::{Findings, JudgedPaper, Run, STUDIES, Study};
use serde::Serialize;

/// Rebuild published results in virtual time: theirs beside ours, table by table
///
/// Simulates a study's scenarios on all cores and prints each published table with what came out here,
/// and whether the study's criteria are met. studies/ says of each what is claimed and what had to be
/// assumed. Exit status 1 where a criterion is not met.
#[derive(clap::Args)]
pub struct Arguments {
    /// Studies to rebuild; all of them where none is named
    #[arg(value_name = "STUDY", value_parser = names())]
    studies: Vec<String>,
    /// Few repetitions: minutes become seconds, intervals are wide, and criteria that need more are
    /// not judged
    #[arg(long)]
    short: bool,
    /// First seed of each scenario, instead of its own
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// How often a scenario is repeated that is repeated at all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: Option<u32>,
    /// Run so many times more, with seeds from 10,000, 20,000 and so on, and tell in how many each
    /// criterion is met
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    seed_blocks: u32,
    /// Write tables and figures to a page that opens without a network; one that is there is replaced
    /// when the new one is whole
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Directory in which each study has a directory with its files
    #[arg(long, value_name = "DIRECTORY", default_value = "studies")]
    from: PathBuf,
}

/// What studies were called before, and what they are called now: rtcp is another protocol's name.
const RENAMED: [(&str, &str); 5] = [
    ("rtcp-tables", "thesis-tables"),
    ("rtcp-fairness", "thesis-fairness"),
    ("rtcp-wifi", "thesis-wifi"),
    ("rtcp-wimax", "thesis-wimax"),
    ("rtcp-lte", "thesis-lte"),
];

/// The names of the studies. For an old name the new one is told; it is not among those that are shown.
fn names() -> impl TypedValueParser<Value = String> {
    let now = STUDIES.iter().map(|study| PossibleValue::new(study.name));
    let before = RENAMED.iter().map(|(before, _)| PossibleValue::new(*before).hide(true));
    PossibleValuesParser::new(now.chain(before)).try_map(|name| {
        match RENAMED.iter().find(|(before, _)| *before == name) {
            Some((_, now)) => Err(format!("it is called {now} now")),
            None => Ok(name),
        }
    })
}

/// Rebuilds them.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let wanted = |study: &&Study| {
        arguments.studies.is_empty() || arguments.studies.iter().any(|name| name == study.name)
    };
    // What cannot be read or written is told before anything is simulated.
    let Arguments { short, seed, repetitions, seed_blocks: blocks, ref from, .. } = *arguments;
    let run = Run { short, seed, repetitions, blocks };
    let material = |study| Ok((study, Study::material(study, from, run)?));
    let studies = STUDIES.iter().filter(wanted).map(material);
    let studies = studies.collect::<Result<Vec<_>, kirikae_results::Error>>()?;
    // What becomes of the papers' claims is told by all studies together.
    let papers =
        if arguments.studies.is_empty() { kirikae_studies::papers(from)? } else { Vec::new() };
    let report = arguments.report.as_deref().map(Report::create).transpose()?;
    let mut all = Vec::new();
    for (study, material) in &studies {
        tell!("{}: {}", study.name, material.definition.about);
        all.push(study.compare(material)?);
    }
    let papers: Vec<JudgedPaper> = papers.iter().map(|paper| paper.judged(&all)).collect();
    report.map_or(Ok(()), |report| report.write(&kirikae_studies::page(&all, &papers)))?;
    let text = || {
        let studies = all.iter().map(kirikae_studies::render);
        studies.chain([kirikae_studies::render_claims(&papers)]).collect()
    };
    print(&Printed { studies: &all, papers: &papers }, text, arguments.json)?;
    Ok(if all.iter().all(Findings::agrees) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Printed<'a> {
    studies: &'a [Findings],
    papers: &'a [JudgedPaper],
}

/// The page, under another name until it is whole.
struct Report<'a> {
    path: &'a Path,
    new: PathBuf,
    file: File,
}

impl<'a> Report<'a> {
    fn create(path: &'a Path) -> anyhow::Result<Report<'a>> {
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let new = PathBuf::from(new);
        let file = File::create(&new).with_context(|| format!("creating {}", new.display()))?;
        Ok(Report { path, new, file })
    }

    fn write(mut self, page: &str) -> anyhow::Result<()> {
        let written =
            self.file.write_all(page.as_bytes()).and_then(|()| fs::rename(&self.new, self.path));
        written.with_context(|| format!("writing {}", self.path.display()))
    }
}
