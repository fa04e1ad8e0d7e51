//! Tables of Markdown.

use kirikae_results::statistics::Estimate;

/// A table with a heading, each row as many cells.
pub fn table(heading: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let heading: Vec<String> = heading.iter().map(ToString::to_string).collect();
    let mut text = line(&heading) + "|" + &"---|".repeat(heading.len()) + "\n";
    for row in rows {
        assert_eq!(row.len(), heading.len(), "a cell for each column");
        text += &line(&row);
    }
    text
}

/// A value with its interval, or a dash.
pub fn estimate(estimate: Option<Estimate>, digits: usize) -> String {
    match estimate {
        None => "-".into(),
        Some(Estimate { value, half_width: None }) => format!("{value:.digits$}"),
        Some(Estimate { value, half_width: Some(half) }) => {
            format!("{value:.digits$} ± {half:.digits$}")
        }
    }
}
