//! Reads `[sweep]`: one file for many scenarios. Each name takes each of its values, in every combination,
//! wherever the file has `"$name"`; in the title it may stand anywhere. If the values are tables,
//! `"$name.key"` is the value of that key in the present one. The scenarios are in the alphabetical order of
//! the names, the last name changing fastest.

use std::collections::BTreeSet;

use kirikae_settings::Refusal;
use kirikae_settings::section::{Binding, Field, Section, Source, nearest};

/// The largest number of scenarios of a file.
const MOST: usize = 10_000;

/// Reads the values of the names in each scenario; without a sweep that is one scenario without names.
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

/// Refuses `"$name"` if there is no such name, and a name that is never used.
fn check_uses(root: &Section, sweep: &[(&str, Field)]) -> Result<(), Refusal> {
    let names: Vec<&str> = sweep.iter().map(|(name, _)| *name).collect();
    let mut used = BTreeSet::new();
    let values = root.entries().filter(|(key, _)| *key != "title");
    for text in values.flat_map(|(_, field)| field.texts()) {
        let Some(written) = text.text("")?.strip_prefix('$') else { continue };
        let (name, key) = Binding::split(written);
        if !names.contains(&name) {
            let mut allowed = format!("a value, or a name of [sweep], which has no {name}");
            if !names.is_empty() {
                allowed += &format!(" but {}{}", names.join(", "), nearest(name, &names));
            }
            return Err(text.refuse(allowed));
        }
        if let Some(key) = key {
            check_key(sweep, name, key)?;
        }
        used.insert(name);
    }
    let unused = sweep.iter().find(|(name, _)| !used.contains(name));
    unused.map_or(Ok(()), |(name, field)| {
        Err(field.refuse(format!("names that stand for a value somewhere, as \"${name}\"")))
    })
}

/// Refuses a name with a value that is not a table with this key.
fn check_key(sweep: &[(&str, Field)], name: &str, key: &str) -> Result<(), Refusal> {
    let allowed = format!("a table with the key {key}, as \"${name}.{key}\" stands for it");
    let values = sweep.iter().filter(|(other, _)| *other == name);
    let values = values.map(|(_, field)| field.list(&allowed)).collect::<Result<Vec<_>, _>>()?;
    values
        .iter()
        .flatten()
        .try_for_each(|value| value.section(&allowed)?.required(key, &allowed).map(|_| ()))
}

/// The title of one scenario. If several names fit, the longest is taken.
pub(super) fn title(title: &str, bindings: &[Binding], source: &Source) -> String {
    let names: Vec<_> = bindings.iter().flat_map(|binding| binding.texts(source)).collect();
    let mut parts = title.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let fitting = names.iter().filter(|(name, _)| part.starts_with(name.as_str()));
        let (value, rest) = match fitting.max_by_key(|(name, _)| name.len()) {
            Some((name, value)) => (*value, &part[name.len()..]),
            None => ("$", part),
        };
        text.push_str(value);
        text.push_str(rest);
    }
    text
}
