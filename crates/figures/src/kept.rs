//! The figures of earlier commits, `scenarios/figures/kept.csv`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use kirikae_settings::Refusal;

use crate::measured::{Figure, Value};

const HEADING: &str = "commit;date;figure;value;half_width";

/// The file, row by row; later rows are of later runs.
#[derive(Clone, Debug)]
pub struct Kept {
    file: PathBuf,
    rows: Vec<Row>,
}

/// A figure as it was at a commit.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    commit: String,
    date: String,
    figure: String,
    value: Value,
}

impl Kept {
    /// Reads the file; without one nothing was kept yet.
    ///
    /// # Errors
    /// A file that cannot be read, or the first line that is no row.
    pub fn read(file: &Path) -> anyhow::Result<Kept> {
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => format!("{HEADING}\n"),
            read => read.with_context(|| format!("reading {}", file.display()))?,
        };
        let refuse = |place: usize, allowed: &str| Refusal {
            file: file.to_owned(),
            line: Some(place + 1),
            key: None,
            found: format!("found {:?}", text.lines().nth(place).unwrap_or_default()),
            allowed: allowed.into(),
        };
        if text.lines().next() != Some(HEADING) {
            return Err(refuse(0, HEADING).into());
        }
        let row = |(place, line)| row(line).ok_or_else(|| refuse(place, HEADING));
        let rows = text.lines().enumerate().skip(1).map(row).collect::<Result<_, Refusal>>()?;
        Ok(Kept { file: file.to_owned(), rows })
    }

    /// The last value of a figure, and its commit.
    pub fn last(&self, figure: &str) -> Option<(&str, Value)> {
        let row = self.rows.iter().rev().find(|row| row.figure == figure)?;
        Some((&row.commit, row.value))
    }

    /// Adds what was measured at this commit, in place of what is there of these figures at the same one, and writes
    /// the file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn keep(&mut self, commit: &str, date: &str, figures: &[Figure]) -> anyhow::Result<()> {
        let is_measured = |name: &str| figures.iter().any(|it| it.name == name && it.value.is_ok());
        self.rows.retain(|row| row.commit != commit || !is_measured(&row.figure));
        let measured = figures.iter().filter_map(|it| Some((it, *it.value.as_ref().ok()?)));
        self.rows.extend(measured.map(|(figure, value)| Row {
            commit: commit.into(),
            date: date.into(),
            figure: figure.name.clone(),
            value,
        }));
        let line = |row: &Row| {
            let Row { commit, date, figure, value: Value { value, half_width } } = row;
            format!("{commit};{date};{figure};{value:.4};{half_width:.4}\n")
        };
        let text: String = self.rows.iter().map(line).collect();
        fs::write(&self.file, format!("{HEADING}\n{text}"))
            .with_context(|| format!("writing {}", self.file.display()))
    }
}

fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.split(';').collect();
    let [commit, date, figure, value, half_width] = cells[..] else { return None };
    let number = |text: &str| text.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0);
    let value = Value { value: number(value)?, half_width: number(half_width)? };
    Some(Row { commit: commit.into(), date: date.into(), figure: figure.into(), value })
}
