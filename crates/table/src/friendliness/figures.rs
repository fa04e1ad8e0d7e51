//! The measured figures of how each algorithm shares a bottleneck: `tables/friendliness.csv`.
//! docs/friendliness.md tells what they mean; `crates/generate` makes them.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// A quantity that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Measure {
    /// One flow of stock cubic beside one of the algorithm: the share of its fair share that it keeps. Its
    /// fair share is what it gets beside another flow of stock cubic.
    #[serde(rename = "cubic-1")]
    Cubic1,
    /// The same with four flows beside four.
    #[serde(rename = "cubic-4")]
    Cubic4,
    /// As [`Measure::Cubic1`], with stock reno.
    #[serde(rename = "reno-1")]
    Reno1,
    /// The same with four flows of stock reno beside four.
    #[serde(rename = "reno-4")]
    Reno4,
    /// Jain's index of two flows of the algorithm.
    #[serde(rename = "alike-2")]
    Alike2,
    /// Jain's index of four flows of the algorithm.
    #[serde(rename = "alike-4")]
    Alike4,
    /// Jain's index of eight flows of the algorithm.
    #[serde(rename = "alike-8")]
    Alike8,
    /// Goodput over stock reno's, each alone on a wide path that loses 3 % of the packets.
    #[serde(rename = "heavy-loss")]
    HeavyLoss,
}

/// One measure of one algorithm: a row of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// In-kernel name of one of our algorithms or of a stock one.
    pub algorithm: String,
    /// What was measured.
    pub measure: Measure,
    /// Mean over all paths.
    pub mean: f64,
    /// Half the width of its 95 % interval.
    pub mean_half_width: f64,
    /// The value on the path that is worst for others: the lowest share or index, the highest goodput.
    pub worst: f64,
    /// Half the width of its 95 % interval.
    pub worst_half_width: f64,
    /// The name of that path.
    pub worst_path: String,
}

static MEASURED: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let text = include_str!("../../../../tables/friendliness.csv");
    parse(text).unwrap_or_else(|error| panic!("tables/friendliness.csv: {error}"))
});

/// The figures that ship, algorithm by algorithm.
pub fn measured() -> &'static [Figure] {
    &MEASURED
}

fn parse(text: &str) -> Result<Vec<Figure>, csv::Error> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    reader.deserialize().collect()
}

/// The file's text, after the lines with `#` that say how it was made.
///
/// # Panics
/// Never panics: it writes into memory.
pub fn to_text(figures: &[Figure]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for figure in figures {
        writer.serialize(figure).expect("memory takes it");
    }
    let bytes = writer.into_inner().expect("memory takes it");
    String::from_utf8(bytes).expect("text was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_as_it_would_be_written() {
        let file = include_str!("../../../../tables/friendliness.csv");
        let lines = file.lines().filter(|line| !line.starts_with('#'));
        let figures: String = lines.flat_map(|line| [line, "\n"]).collect();
        assert_eq!(to_text(measured()), figures);
    }
}
