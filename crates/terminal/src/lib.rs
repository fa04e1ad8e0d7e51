//! Tables as people read them, no wider than what they are read on.

pub use comfy_table::{Attribute, Cell, CellAlignment, Color, Row, Table, presets};
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle};

/// Of a table, where there is no terminal to fit it into.
const COLUMNS: u16 = 100;

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

/// A table whose cells are figures, which are not broken: it is as wide as they need.
pub fn table_of_figures<H: Into<Row>>(header: H) -> Table {
    let mut table = table(header);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
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
    fn a_table_that_fits_is_no_wider_than_it_needs() {
        let mut table = table_within(Some(100), ["a", "b"]);
        table.add_row(["1", "2"]);
        let text = table.to_string();
        assert!(text.lines().all(|line| line.chars().count() < 20), "{text}");
    }
}
