//! The table: a kernel by row, a capability by column.

use kirikae_terminal::table;

use super::Found;
use super::capability::{Capability, Outcome};

/// Whether everything was looked at, and nothing fails that the kernel has what it takes for.
pub fn works(found: &Found) -> bool {
    let is_fine = |capability: &Capability| {
        let mut lines = found.lines.iter().filter(|line| line.capability == *capability);
        lines.next().is_some_and(|line| !matches!(line.outcome, Outcome::Fails(_)))
    };
    found.error.is_none() && Capability::ALL.iter().all(is_fine)
}

/// The table, and what was seen below it.
pub fn render(found: &[Found]) -> String {
    let titles = Capability::ALL.map(|it| it.title().to_owned());
    let mut table = table([vec!["Linux".to_owned()], titles.to_vec()].concat());
    for found in found {
        let cell = |capability: Capability| {
            let line = found.lines.iter().find(|line| line.capability == capability);
            match line.map(|line| &line.outcome) {
                Some(Outcome::Works(_)) => "yes",
                Some(Outcome::Lacks(_)) => "no",
                Some(Outcome::Fails(_)) => "FAILS",
                None => "?",
            }
        };
        let name = found.release.as_ref().unwrap_or(&found.series);
        let name = name.split(['+', '-']).next().unwrap_or(name).to_owned();
        let cells = Capability::ALL.map(|it| cell(it).to_owned());
        table.add_row([vec![name], cells.to_vec()].concat());
    }
    let mut text = format!("{table}\n");
    for found in found {
        text += &format!("\nLinux {}\n", found.release.as_ref().unwrap_or(&found.series));
        text.extend(found.lines.iter().map(|line| format!("  {line}\n")));
        text.extend(found.error.iter().map(|error| format!("  FAILS: {error}\n")));
    }
    text
}
