//! `[sweep]`: one file for many scenarios. Each name takes each of its values, in every combination,
//! wherever the file has `"$name"`; in the title it may stand anywhere. The scenarios come in the
//! alphabetical order of the names, the last changing fastest.

use std::collections::BTreeSet;

use kirikae_settings::Refusal;
use kirikae_settings::section::{Binding, Field, Section, Source, nearest};

/// Most scenarios of a file.
const MOST: usize = 10_000;

/// What the names stand for in each scenario; one scenario without names where there is no sweep.
pub(super) fn read<'a>(root: &Section<'a>) -> Result<Vec<Vec<Binding<'a>>>, Refusal> {
    const ALLOWED: &str = "names, each with the list of its values, such as loss = [0, 0.01]";
    let section = root.optional("sweep").map(|field| field.section(ALLOWED)).transpose()?;
    let names: Vec<(&str, Field)> = section.iter().flat_map(|section| section.entries()).collect();
    check_uses(root, &names)?;
    let mut scenarios = vec![Vec::new()];
    for (name, field) in names {
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

/// Refuses `"$name"` where there is no such name, and a name that no value is.
fn check_uses(root: &Section, sweep: &[(&str, Field)]) -> Result<(), Refusal> {
    let names: Vec<&str> = sweep.iter().map(|(name, _)| *name).collect();
    let mut used = BTreeSet::new();
    let values = root.entries().filter(|(key, _)| *key != "title");
    for text in values.flat_map(|(_, field)| field.texts()) {
        let Some(name) = text.text("")?.strip_prefix('$') else { continue };
        if !names.contains(&name) {
            let mut allowed = format!("a value, or a name of [sweep], which has no {name}");
            if !names.is_empty() {
                allowed += &format!(" but {}{}", names.join(", "), nearest(name, &names));
            }
            return Err(text.refuse(allowed));
        }
        used.insert(name);
    }
    let unused = sweep.iter().find(|(name, _)| !used.contains(name));
    unused.map_or(Ok(()), |(name, field)| {
        Err(field.refuse(format!("names that stand for a value somewhere, as \"${name}\"")))
    })
}

/// The title of one scenario. Where several names fit, the longest is meant.
pub(super) fn title(title: &str, bindings: &[Binding], source: &Source) -> String {
    let mut parts = title.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let fitting = bindings.iter().filter(|binding| part.starts_with(binding.name));
        let (value, rest) = match fitting.max_by_key(|binding| binding.name.len()) {
            Some(binding) => (binding.text(source), &part[binding.name.len()..]),
            None => ("$", part),
        };
        text.push_str(value);
        text.push_str(rest);
    }
    text
}
