//! `kirikae reproduce`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use kirikae_lab::reproduce::{Findings, STUDIES, Study};

use super::comparison;

/// Rebuild published results in virtual time: theirs beside ours, cell by cell
///
/// Simulates a study's scenarios and prints each published table with what came out here, and whether
/// the study's criteria are met. studies/ says of each what is claimed and what had to be assumed.
/// Exit status 1 where a criterion is not met.
#[derive(clap::Args)]
pub struct Arguments {
    /// Studies to rebuild; all of them where none is named
    #[arg(value_name = "STUDY", value_parser = names())]
    studies: Vec<String>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Directory in which each study has a directory with its scenarios
    #[arg(long, value_name = "DIRECTORY", default_value = "studies")]
    from: PathBuf,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(STUDIES.map(|study| study.name))
}

/// Rebuilds them.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let wanted = |study: &Study| {
        arguments.studies.is_empty() || arguments.studies.iter().any(|name| name == study.name)
    };
    let mut all = Vec::new();
    for study in STUDIES.iter().filter(|study| wanted(study)) {
        eprintln!("{}: {}", study.name, study.about);
        all.push(study.compare(&study.scenarios(&arguments.from)?)?);
    }
    comparison::print(&all, || all.iter().map(Findings::render).collect(), arguments.json)?;
    Ok(if all.iter().all(Findings::agrees) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
