//! Tables: theirs beside ours.

use kirikae_results::statistics::Estimate;
use serde::Serialize;

/// A published table beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What it tells, and which of the print it is.
    pub title: String,
    /// What its rows go by, with the unit.
    pub by: String,
    /// The headings of the other columns.
    pub columns: Vec<Column>,
    /// In the order of the print.
    pub rows: Vec<Row>,
}

/// A column of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// What is in it, with the unit.
    pub heading: String,
    /// Digits after the point, for people.
    pub digits: usize,
}

/// A row of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What it is about: a loss rate, an RTT, a scheme.
    pub heading: String,
    /// One for each column.
    pub cells: Vec<Cell>,
    /// Why ours is not as printed.
    pub why: Option<String>,
}

/// What stands in a row under a heading: a printed value, one of ours, both, or a word.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cell {
    /// As printed.
    pub published: Option<f64>,
    /// As simulated, with the 95 % interval where there are repetitions.
    pub ours: Option<Estimate>,
    /// Samples that ours is taken from.
    pub n: usize,
    /// Ours over theirs, less 1; none where theirs is 0.
    pub difference: Option<f64>,
    /// Whether that is little enough; none where nothing is asked of it.
    pub agrees: Option<bool>,
    /// What is told in place of a number.
    pub word: Option<String>,
    /// Why ours is not as printed.
    pub why: Option<String>,
}

impl Table {
    /// A table that has no rows yet.
    pub fn new(
        title: impl Into<String>,
        by: impl Into<String>,
        columns: impl IntoIterator<Item = Column>,
    ) -> Table {
        let columns = columns.into_iter().collect();
        Table { title: title.into(), by: by.into(), columns, rows: Vec::new() }
    }

    /// The cell under these two headings.
    pub fn cell(&self, row: &str, column: &str) -> Option<&Cell> {
        let place = self.columns.iter().position(|it| it.heading == column)?;
        self.rows.iter().find(|it| it.heading == row)?.cells.get(place)
    }
}

impl Column {
    /// A column of numbers with so many digits after the point.
    pub fn new(heading: impl Into<String>, digits: usize) -> Column {
        Column { heading: heading.into(), digits }
    }
}

impl Row {
    /// A row with a cell for each column.
    pub fn new(heading: impl Into<String>, cells: Vec<Cell>) -> Row {
        Row { heading: heading.into(), cells, why: None }
    }

    /// Says why ours is not as printed.
    pub fn because(mut self, why: impl Into<String>) -> Row {
        self.why = Some(why.into());
        self
    }
}

impl Cell {
    /// What was printed and has no counterpart here.
    pub fn published(published: f64) -> Cell {
        Cell { published: Some(published), ..Cell::default() }
    }

    /// What came out here and has no counterpart in print; `n` samples.
    pub fn ours(ours: Estimate, n: usize) -> Cell {
        Cell { ours: Some(ours), n, ..Cell::default() }
    }

    /// Both; `n` samples of ours. Nothing is asked of the difference.
    pub fn compared(published: f64, ours: Estimate, n: usize) -> Cell {
        let difference = (published != 0.0).then(|| ours.value / published - 1.0);
        Cell { published: Some(published), difference, ..Cell::ours(ours, n) }
    }

    /// A word.
    pub fn word(word: impl Into<String>) -> Cell {
        Cell { word: Some(word.into()), ..Cell::default() }
    }

    /// Asks that ours differ from theirs by at most this share of theirs.
    pub fn within(self, share: f64) -> Cell {
        let agrees = self.difference.is_some_and(|difference| difference.abs() <= share);
        self.judged(agrees)
    }

    /// Says whether what was asked of it is so.
    pub fn judged(mut self, agrees: bool) -> Cell {
        self.agrees = Some(agrees);
        self
    }

    /// Says why ours is not as printed.
    pub fn because(mut self, why: impl Into<String>) -> Cell {
        self.why = Some(why.into());
        self
    }
}
