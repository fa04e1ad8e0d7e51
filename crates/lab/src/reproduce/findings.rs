//! What came of a study: tables cell by cell, and whether its criteria are met.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table as Grid, presets};
use serde::Serialize;

use crate::report::estimate;
use crate::statistics::Estimate;

/// What came of a study.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// Its name.
    pub study: &'static str,
    /// Each published table.
    pub tables: Vec<Table>,
    /// What has to hold, and what is told besides.
    pub criteria: Vec<Criterion>,
}

/// A published table beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What it tells, with the unit of its cells.
    pub title: String,
    /// What its rows go by, with the unit.
    pub by: &'static str,
    /// In the order of the print.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What it is about: a loss rate, a bandwidth.
    pub at: f64,
    /// One for each algorithm.
    pub cells: Vec<Cell>,
    /// The algorithm that is lowest with us.
    pub first: String,
    /// The printed value of that algorithm over the lowest printed one.
    pub first_over_lowest: f64,
    /// Spearman's rank correlation of the algorithms; none where all are equal on one side.
    pub rank_correlation: Option<f64>,
}

/// An algorithm in a row.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Its name in Linux.
    pub algorithm: String,
    /// As printed.
    pub published: f64,
    /// As simulated, with the 95 % interval where there are repetitions.
    pub ours: Estimate,
    /// Bursts that ours is taken from.
    pub n: usize,
    /// Ours over theirs, less 1.
    pub difference: f64,
    /// Whether that is little enough; none where nothing is asked of it.
    pub agrees: Option<bool>,
}

/// Something that is to hold, or only told.
#[derive(Clone, Debug, Serialize)]
pub struct Criterion {
    /// What is counted.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Of how many cells or rows.
    pub of: usize,
    /// What is asked of it; none where it is only told.
    pub bound: Option<Bound>,
    /// Whether that holds.
    pub met: Option<bool>,
}

/// What is asked of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

impl Criterion {
    /// A figure of which something is asked.
    pub fn new(what: impl Into<String>, value: f64, of: usize, bound: Bound) -> Criterion {
        let met = match bound {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
        };
        Criterion { what: what.into(), value, of, bound: Some(bound), met: Some(met && of > 0) }
    }

    /// A figure that is only told.
    pub fn told(what: impl Into<String>, value: f64, of: usize) -> Criterion {
        Criterion { what: what.into(), value, of, bound: None, met: None }
    }
}

impl Findings {
    /// Whether everything holds that is asked.
    pub fn agrees(&self) -> bool {
        self.criteria.iter().all(|criterion| criterion.met != Some(false))
    }

    /// As people read it.
    pub fn render(&self) -> String {
        let mut text = format!("{}\n\n", self.study);
        for table in &self.tables {
            writeln!(text, "{}\n{}", table.title, grid(table)).expect("writing to a string");
        }
        text += LEGEND;
        for Criterion { what, value, of, bound, met } in &self.criteria {
            let asked = match bound {
                None => String::new(),
                Some(Bound::AtMost(most)) => format!(", at most {most:.3} asked"),
                Some(Bound::AtLeast(least)) => format!(", at least {least:.3} asked"),
            };
            let met = met.map_or("", |met| if met { ": met" } else { ": MISSED" });
            writeln!(text, "{what}: {value:.3} of {of}{asked}{met}").expect("writing to a string");
        }
        text
    }
}

const LEGEND: &str = "\
In each cell: as printed; as simulated, mean and half of Student's 95 % interval; the difference, with !
where it is more than is allowed and in brackets where nothing is asked of it. first: the lowest of ours,
and how far its printed value is above the lowest printed one. rank: Spearman's rank correlation.

";

fn grid(table: &Table) -> Grid {
    let mut grid = Grid::new();
    grid.load_style(presets::UTF8_HORIZONTAL_ONLY);
    let names = table.rows.first().map_or(&[][..], |row| &row.cells);
    let header = [table.by.to_owned()].into_iter();
    let header = header.chain(names.iter().map(|cell| cell.algorithm.clone()));
    grid.set_header(header.chain(["first".into(), "rank".into()]));
    for row in &table.rows {
        let above = (row.first_over_lowest - 1.0) * 100.0;
        let rank = row.rank_correlation.map_or("-".into(), |rank| format!("{rank:.2}"));
        let cells = row.cells.iter().map(told);
        let row_cells = [row.at.to_string()].into_iter().chain(cells);
        grid.add_row(row_cells.chain([format!("{}\n+{above:.0} %", row.first), rank]));
    }
    for column in grid.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    grid.force_no_tty();
    grid
}

fn told(cell: &Cell) -> String {
    let percent = format!("{:+.0} %", cell.difference * 100.0);
    let difference = match cell.agrees {
        Some(true) => percent,
        Some(false) => format!("{percent} !"),
        None => format!("({percent})"),
    };
    format!("{:.3}\n{}\n{difference}", cell.published, estimate(Some(cell.ours), 3))
}
