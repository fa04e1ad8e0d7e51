//! Tables as people read them, no wider than what they are read on.

use std::io::IsTerminal;

pub use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, Row, Table, presets,
};
use comfy_table::{ContentArrangement, LineStyle};
use textwrap::{Options, WordSplitter};

/// The width of a table where there is no terminal to fit it into.
const COLUMNS: u16 = 100;

/// Whether standard output is to be coloured: on a terminal, unless NO_COLOR is set.
pub fn colour_wanted() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !refused
}

/// An empty table, to which rows are added: as wide as the terminal at most, 100 columns where standard
/// output is none. Cells that do not fit go on in further lines.
pub fn table<H: Into<Row>>(header: H) -> Table {
    table_within(None, header)
}

/// The same for a given width, in columns.
pub fn table_within<H: Into<Row>>(columns: Option<u16>, header: H) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    // What is looked for by its name is not broken.
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    let columns = columns.or_else(|| table.width()).unwrap_or(COLUMNS);
    table.set_width(columns);
    table
}

/// A table whose cells are figures, which are not broken: [`pieces`] makes it fit.
pub fn table_of_figures<H: Into<Row>>(header: H) -> Table {
    let mut table = table(header);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// Rows under a heading, as text; all columns but the first `names` are figures.
pub fn figures(
    columns: &[&str],
    rows: impl Iterator<Item = Vec<Cell>>,
    names: usize,
    coloured: bool,
) -> String {
    let mut table = table_of_figures(columns.to_vec());
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    colour(&mut table, coloured);
    pieces(table, names)
}

/// A table of figures as text. Columns for which there is no room go on in another table below, with the first
/// `names` columns again.
pub fn pieces(mut table: Table, names: usize) -> String {
    // A space at both sides of each, and one between two.
    let widths: Vec<usize> =
        table.column_max_content_widths().into_iter().map(|width| width as usize + 3).collect();
    let room = (columns() + 1).saturating_sub(widths[..names].iter().sum());
    let mut shown: Vec<Vec<usize>> = vec![];
    let mut taken = 0;
    for (column, width) in widths.iter().enumerate().skip(names) {
        taken += width;
        match shown.last_mut() {
            Some(piece) if taken <= room => piece.push(column),
            _ => {
                shown.push(vec![column]);
                taken = *width;
            }
        }
    }
    let piece = |of_it: &Vec<usize>| {
        for (number, column) in table.column_iter_mut().enumerate().skip(names) {
            if of_it.contains(&number) {
                column.remove_constraint();
            } else {
                column.set_constraint(ColumnConstraint::Hidden);
            }
        }
        format!("{table}\n")
    };
    shown.iter().map(piece).collect()
}

/// How wide what is printed may be: as the terminal, 100 columns where standard output is none.
pub fn columns() -> usize {
    usize::from(Table::new().width().unwrap_or(COLUMNS))
}

/// Sentences, each line of which goes on in further lines where it is too long. Names with hyphens stay whole.
pub fn wrapped(sentences: &str) -> String {
    sentences.lines().map(|line| wrapped_to(columns(), line) + "\n").collect()
}

/// The same of one line, for a column of a table that is so wide.
pub fn wrapped_to(width: usize, line: &str) -> String {
    let options = Options::new(width).word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(line, &options)
}

/// Whether it is coloured, as [`Color`] says for its cells.
pub fn colour(table: &mut Table, is_coloured: bool) {
    if is_coloured {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_goes_on_below() {
        let mut table = table_within(Some(40), ["name", "what it is"]);
        table.add_row(["one", &"word ".repeat(30)]);
        let text = table.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.lines().count() > 5, "{text}");
    }

    #[test]
    fn figures_for_which_there_is_no_room_are_in_a_table_below() {
        let header: Vec<String> = (0..20).map(|n| format!("figure {n}")).collect();
        let mut table = table_of_figures([vec!["name".to_owned()], header].concat());
        table.add_row([vec!["one".to_owned()], vec!["0.123 ± 0.456".to_owned(); 20]].concat());
        let text = pieces(table, 1);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert_eq!(text.matches("name").count(), 4, "{text}");
        assert_eq!(text.matches("0.123").count(), 20, "{text}");
    }

    #[test]
    fn long_sentences_go_on_below() {
        let text = wrapped(&format!("{}\nA short one.\n", "word ".repeat(50)));
        assert!(text.lines().all(|line| line.len() <= 100) && text.ends_with("\nA short one.\n"));
    }

    #[test]
    fn a_table_that_fits_is_no_wider_than_it_needs() {
        let mut table = table_within(Some(100), ["a", "b"]);
        table.add_row(["1", "2"]);
        let text = table.to_string();
        assert!(text.lines().all(|line| line.chars().count() < 20), "{text}");
    }
}
