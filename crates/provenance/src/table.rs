//! What a latency table says of its making.

use crate::Inputs;

/// The groups of sources that determine what is measured for a table.
const GROUPS: &[&str] = &["algorithms", "simulator", "measuring"];
/// Before the inputs, on a line of the table's header.
const INPUTS: &str = "Inputs: ";

/// What this program measures a latency table with.
pub fn table_inputs() -> Inputs {
    Inputs::built(GROUPS)
}

/// The line of a table's header that says so.
pub fn table_line() -> String {
    format!("{INPUTS}{}", table_inputs())
}

/// What a table was measured with, by the lines of its header; none where they do not say it.
pub fn inputs_of_table(header: &[String]) -> Option<Inputs> {
    header.iter().find_map(|line| Inputs::parse(line.strip_prefix(INPUTS)?))
}

/// Why what was measured for a table may not be what this program does; none where nothing differs.
pub fn table_is_stale(header: &[String]) -> Option<String> {
    let Some(inputs) = inputs_of_table(header) else {
        return Some("its header does not say what it was measured with".into());
    };
    let differences = inputs.differences(&table_inputs());
    (!differences.is_empty())
        .then(|| format!("it was measured with other sources: {}", differences.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_other_sources_is_stale() {
        let header = |line: String| ["Mean latencies.".to_owned(), line];
        assert_eq!(table_is_stale(&header(table_line())), None);
        let problem = table_is_stale(&header("Inputs: algorithms 12, simulator 13".into()));
        let problem = problem.unwrap();
        assert!(problem.contains("algorithms 12, now ") && problem.contains("measuring not told"));
        assert!(table_is_stale(&header("seed = 1".into())).unwrap().contains("does not say"));
    }
}
