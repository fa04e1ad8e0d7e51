//! `[sweep]`: one file for many scenarios. Each name takes each of its values, in every combination,
//! wherever the file has `"$name"`; in the title it may stand anywhere. The scenarios come in the
//! alphabetical order of the names, the last changing fastest.

use super::refusal::Refusal;
use super::section::{Binding, Section, Source};

/// Most scenarios of a file.
const MOST: usize = 10_000;

/// What the names stand for in each scenario; one scenario without names where there is no sweep.
pub(super) fn read<'a>(root: &Section<'a>) -> Result<Vec<Vec<Binding<'a>>>, Refusal> {
    let mut scenarios = vec![Vec::new()];
    let Some(field) = root.optional("sweep") else { return Ok(scenarios) };
    const ALLOWED: &str = "names, each with the list of its values, such as loss = [0, 0.01]";
    for (name, field) in field.section(ALLOWED)?.entries() {
        let values = field.list(ALLOWED)?;
        if scenarios.len() * values.len() > MOST {
            return Err(field.refuse(format!("values that make at most {MOST} scenarios")));
        }
        let with = |bindings: &Vec<Binding<'a>>| {
            let bindings = bindings.clone();
            let one = |value| [&bindings[..], &[Binding { name, value }]].concat();
            values.iter().map(|field| one(field.value())).collect::<Vec<_>>()
        };
        scenarios = scenarios.iter().flat_map(with).collect();
    }
    Ok(scenarios)
}

/// The title of one scenario.
pub(super) fn title(title: &str, bindings: &[Binding], source: &Source) -> String {
    bindings.iter().fold(title.to_owned(), |title, binding| {
        title.replace(&format!("${}", binding.name), binding.text(source))
    })
}
