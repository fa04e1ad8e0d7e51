//! `kirikae support`

use std::fmt::Write as _;
use std::process::ExitCode;

use kirikae_agent::{FeatureState, Support};
use kirikae_command::print;
use kirikae_terminal::table;

/// Tell what the running kernel allows, and what is missing
///
/// Looks at the kernel's description of itself and, as root, tries what the agent does: programs are
/// loaded but not attached, options are set on a socket in a network namespace of its own. Nothing on
/// the host is changed. Exit status 3 where `kirikae run` could not work, and the last line says why.
///
/// The commands that the table does not name need nothing of the kernel.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Looks at everything and prints what was found.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let support = kirikae_agent::support()?;
    print(&support, || render(&support), arguments.json)?;
    Ok(if support.refusal.is_none() { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

fn render(support: &Support) -> String {
    let mut table = table(["", "there", "found", "needed by", "without it"]);
    for feature in &support.features {
        let there = match feature.state {
            FeatureState::Present => "yes",
            FeatureState::Missing => "NO",
            FeatureState::Unknown => "?",
        };
        let needed_by = feature.needed_by.join(", ");
        table.add_row([feature.name, there, &feature.found, &needed_by, feature.otherwise]);
    }
    let mut text = format!("Linux {}\n{table}\n", support.kernel);
    match &support.refusal {
        None => text.push_str("kirikae run can work here.\n"),
        Some(why) => writeln!(text, "kirikae run cannot work here: {why}").expect("a string"),
    }
    text
}
