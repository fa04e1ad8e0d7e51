//! A table as people read it, in the terminal and on the page: texts in rows and columns, and notes.

use kirikae_results::report::estimate;

use super::table::{Cell, Column, Table};

/// Where so many columns or fewer compare, theirs and ours have columns of their own.
const SPREAD: usize = 2;

/// Texts in rows and columns.
pub(super) struct Grid {
    pub header: Vec<String>,
    pub rows: Vec<Vec<Text>>,
    /// Why something is not as printed; a text refers to one by its number, from 1.
    pub notes: Vec<String>,
}

/// What stands at a place.
#[derive(Default)]
pub(super) struct Text {
    pub lines: Vec<String>,
    /// Whether what it says is as printed, where that is asked.
    pub agrees: Option<bool>,
    pub note: Option<usize>,
}

impl Grid {
    pub fn new(table: &Table) -> Grid {
        let compares = |place: usize| table.rows.iter().any(|row| is_compared(&row.cells[place]));
        let compared: Vec<bool> = (0..table.columns.len()).map(compares).collect();
        let few = compared.iter().filter(|compared| **compared).count() <= SPREAD;
        let spread = |place: usize| few && compared[place];

        let mut header = vec![table.by.clone()];
        for (place, Column { heading, .. }) in table.columns.iter().enumerate() {
            if spread(place) {
                header.extend([
                    format!("{heading}: published"),
                    "ours".into(),
                    "difference".into(),
                ]);
            } else {
                header.push(heading.clone());
            }
        }
        let mut notes = Vec::new();
        let mut rows = Vec::new();
        for row in &table.rows {
            let heading = Text { lines: vec![row.heading.clone()], ..Text::default() };
            let mut texts = vec![Text { note: number(&mut notes, row.why.as_ref()), ..heading }];
            for (place, cell) in row.cells.iter().enumerate() {
                let digits = table.columns[place].digits;
                let note = number(&mut notes, cell.why.as_ref());
                let parts = parts(cell, digits);
                if spread(place) {
                    let own = |part: Option<String>| Text {
                        lines: part.into_iter().collect(),
                        ..Text::default()
                    };
                    let [published, ours, difference] = parts;
                    texts.extend([own(published), own(ours)]);
                    texts.push(Text { agrees: cell.agrees, note, ..own(difference) });
                } else {
                    let lines = parts.into_iter().flatten().collect();
                    texts.push(Text { lines, agrees: cell.agrees, note });
                }
            }
            rows.push(texts);
        }
        Grid { header, rows, notes }
    }
}

fn is_compared(cell: &Cell) -> bool {
    cell.published.is_some() && cell.ours.is_some()
}

/// Published, ours, and the difference between them; a word takes the first place.
fn parts(cell: &Cell, digits: usize) -> [Option<String>; 3] {
    let published = cell.published.map(|published| format!("{published:.digits$}"));
    let difference = cell.difference.map(|difference| {
        let percent = format!("{:+.1} %", difference * 100.0);
        if cell.agrees.is_none() { format!("({percent})") } else { percent }
    });
    [
        cell.word.clone().or(published),
        cell.ours.map(|ours| estimate(Some(ours), digits)),
        difference,
    ]
}

/// The number of a note, which is taken up where it is new.
fn number(notes: &mut Vec<String>, why: Option<&String>) -> Option<usize> {
    let why = why?;
    let known = notes.iter().position(|note| note == why);
    Some(
        1 + known.unwrap_or_else(|| {
            notes.push(why.clone());
            notes.len() - 1
        }),
    )
}
