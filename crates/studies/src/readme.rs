//! What has to hold, in a study's README: a block that follows from its study.toml.

use std::fmt::Write;

use super::Definition;
use super::definition::Asked;

const BEGIN: &str = "<!-- of study.toml: cargo run -p kirikae-studies --example readmes -->\n";
const END: &str = "<!-- end of study.toml -->\n";

/// A README with what study.toml asks in its block; none where it has no such block.
pub fn readme(text: &str, definition: &Definition) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, behind) = rest.split_once(END)?;
    let mut table = "| what | asked |\n|---|---|\n".to_owned();
    for asked in &definition.criteria {
        writeln!(table, "{}", row(asked)).expect("writing to a string");
    }
    Some(format!("{before}{BEGIN}{table}{END}{behind}"))
}

/// A README without its block.
pub(super) fn without_block(text: &str) -> String {
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, behind) = rest.split_once(END)?;
        Some([before, behind].concat())
    });
    parts.unwrap_or_else(|| text.to_owned())
}

fn row(asked: &Asked) -> String {
    let Asked { what, limit, calibrated, judged_when_short, .. } = asked;
    let what = what.replace(['{', '}'], "*");
    let limit = limit.map_or("told".into(), |limit| limit.to_string());
    let set = if *calibrated { "; the scenarios are set to it" } else { "" };
    let long = if *judged_when_short { "" } else { "; not judged in a short run" };
    format!("| {what} | {limit}{set}{long} |")
}
