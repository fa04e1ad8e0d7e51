//! Printed numbers: a CSV file in a study's directory, with lines that begin with `#` and say where
//! they are from.

use std::fs::File;
use std::path::{Path, PathBuf};

use kirikae_scenario::Refusal;

/// A file of printed numbers.
#[derive(Clone, Debug)]
pub struct Published {
    file: PathBuf,
    header: Vec<String>,
    /// Each with its line.
    records: Vec<(u64, Vec<String>)>,
}

/// A line of it.
#[derive(Clone, Copy, Debug)]
pub struct PublishedRow<'a> {
    published: &'a Published,
    line: u64,
    fields: &'a [String],
}

impl Published {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that is not there, or a line that has more or fewer fields than the first.
    pub fn load(file: &Path) -> Result<Published, Refusal> {
        let refuse = |line: Option<u64>, found: String| Refusal {
            file: file.to_owned(),
            line: line.map(|line| line as usize),
            key: None,
            found,
            allowed: "a CSV file with a header, and # before what is no data".into(),
        };
        let open = File::open(file).map_err(|it| refuse(None, format!("cannot be read ({it})")))?;
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(open);
        let bad =
            |error: csv::Error| refuse(error.position().map(|at| at.line()), error.to_string());
        let texts = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
        let header = texts(reader.headers().map_err(bad)?);
        let record = |record: Result<csv::StringRecord, csv::Error>| {
            let record = record.map_err(bad)?;
            Ok((record.position().map_or(0, |at| at.line()), texts(&record)))
        };
        let records = reader.records().map(record).collect::<Result<_, Refusal>>()?;
        Ok(Published { file: file.to_owned(), header, records })
    }

    /// Whether its file has this name.
    pub(super) fn is_of(&self, name: &str) -> bool {
        self.file.ends_with(name)
    }

    /// Its lines, in order.
    pub fn rows(&self) -> impl Iterator<Item = PublishedRow<'_>> {
        self.records.iter().map(|(line, fields)| PublishedRow {
            published: self,
            line: *line,
            fields,
        })
    }
}

impl<'a> PublishedRow<'a> {
    /// What stands in a column.
    ///
    /// # Errors
    /// There is no such column.
    pub fn text(&self, column: &str) -> Result<&'a str, Refusal> {
        let place = self.published.header.iter().position(|name| name == column);
        let place = place.ok_or_else(|| {
            self.refuse(column, "no such column", &self.published.header.join(", "))
        })?;
        Ok(&self.fields[place])
    }

    /// The number in a column; none where it is empty.
    ///
    /// # Errors
    /// There is no such column, or something else in it.
    pub fn number(&self, column: &str) -> Result<Option<f64>, Refusal> {
        match self.text(column)? {
            "" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Some(number)),
                _ => Err(self.refuse(column, text, "a number, or nothing")),
            },
        }
    }

    /// A refusal of what stands in a column.
    pub(super) fn refuse(&self, column: &str, found: &str, allowed: &str) -> Refusal {
        Refusal {
            file: self.published.file.clone(),
            line: Some(self.line as usize),
            key: Some(column.into()),
            found: found.into(),
            allowed: allowed.into(),
        }
    }
}
