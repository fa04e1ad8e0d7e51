//! Findings as people read them in a terminal.

use std::fmt::Write;

use kirikae_terminal::{CellAlignment, pieces, presets, table_of_figures, wrapped};

use super::claims::JudgedPaper;
use super::findings::{Criterion, Findings};
use super::grid::{Grid, Text};

const LEGEND: &str = "\
As printed; as simulated, mean and half of Student's 95 % interval; the difference, with ! where it is
more than is allowed and in brackets where nothing is asked of it.
";

/// The tables and criteria of a study.
pub fn render(findings: &Findings) -> String {
    let short = if findings.short { ", few repetitions" } else { "" };
    let mut text =
        wrapped(&format!("{}{short}: {}\n{}\n\n", findings.study, findings.about, findings.source));
    for table in &findings.tables {
        let grid = Grid::new(table);
        text += &wrapped(&table.title);
        text += &lines(&grid);
        for (number, note) in (1..).zip(&grid.notes) {
            text += &wrapped(&format!("[{number}] {note}"));
        }
    }
    if !findings.tables.is_empty() {
        text += LEGEND;
    }
    text.push('\n');
    for criterion in &findings.criteria {
        text += &wrapped(&told(criterion));
    }
    text.push('\n');
    text
}

/// A line for each paper: how many of its claims came out, by the studies that were run.
pub fn render_claims(papers: &[JudgedPaper]) -> String {
    let line = |paper: &JudgedPaper| wrapped(&format!("{}: {}\n", paper.title, paper.summary()));
    papers.iter().map(line).collect()
}

fn told(criterion: &Criterion) -> String {
    let Criterion { what, of, why, .. } = criterion;
    let asked = criterion.asked().map_or(String::new(), |asked| {
        let why = why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        format!(", {asked} asked: {}{why}", criterion.verdict())
    });
    let blocks = criterion.blocks.as_ref();
    let blocks = blocks.map_or(String::new(), |it| format!("; other seeds: {}", it.told()));
    format!("{what}: {} of {of}{asked}{blocks}\n", criterion.found())
}

fn lines(grid: &Grid) -> String {
    let mut table = table_of_figures(&grid.header);
    // Rows may be several lines high.
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.add_rows(grid.rows.iter().map(|row| row.iter().map(cell)));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.force_no_tty();
    pieces(table, 1)
}

fn cell(text: &Text) -> String {
    let mut cell = text.lines.join("\n");
    if text.agrees == Some(false) {
        cell += " !";
    }
    if let Some(note) = text.note {
        write!(cell, " [{note}]").expect("writing to a string");
    }
    cell
}
