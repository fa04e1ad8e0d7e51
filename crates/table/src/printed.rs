//! The published tables as they are printed, with all their algorithms.

use crate::thesis::{CsvFile, Error, FILES, Files};

/// The quantity that a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Latency in seconds by isolated loss rate (0 to 1).
    IsolatedLatency,
    /// Burst loss rate in percent by bandwidth in kbit/s.
    BurstRate,
    /// Latency in seconds by bandwidth in kbit/s.
    BurstLatency,
}

impl Kind {
    /// The name of the column of points, and the suffix of the other columns' names.
    fn columns(self) -> (&'static str, &'static str) {
        match self {
            Kind::IsolatedLatency => ("isolated_loss_rate", "_s"),
            Kind::BurstRate => ("bandwidth_kbps", "_percent"),
            Kind::BurstLatency => ("bandwidth_kbps", "_s"),
        }
    }

    fn text(self, files: &Files) -> &'static str {
        match self {
            Kind::IsolatedLatency => files.isolated,
            Kind::BurstRate => files.burst_rate,
            Kind::BurstLatency => files.burst_latency,
        }
    }
}

/// A table of one RTT.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// The round-trip time in milliseconds.
    pub rtt_ms: u32,
    /// The loss rates or bandwidths, ascending.
    pub points: Vec<f64>,
    /// Each algorithm by its name in Linux, with a value for each point.
    pub algorithms: Vec<(String, Vec<f64>)>,
}

impl Printed {
    /// The value of an algorithm at a point; None if the table does not have both.
    pub fn value(&self, point: f64, algorithm: &str) -> Option<f64> {
        let place = self.points.iter().position(|printed| *printed == point)?;
        let (_, values) = self.algorithms.iter().find(|(name, _)| name == algorithm)?;
        values.get(place).copied()
    }
}

/// The tables of one kind, one for each RTT.
///
/// The rates of [`Kind::BurstRate`] are paired with the bandwidths in reverse, the smallest with the largest.
/// Section 6.3.4 of the thesis says so; the printed table has both ascending.
///
/// # Errors
/// Fails if a file that ships is not as it should be.
pub fn printed(kind: Kind) -> Result<Vec<Printed>, Error> {
    let (by, suffix) = kind.columns();
    let table = |files: &Files| {
        let columns = CsvFile::read(files.rtt_ms, kind.text(files))?;
        let names = columns.header.iter().filter_map(|name| name.strip_suffix(suffix));
        let column = |name: &str| {
            let mut values = columns.column(&format!("{name}{suffix}"))?;
            if kind == Kind::BurstRate {
                values.reverse();
            }
            Ok((name.to_owned(), values))
        };
        let algorithms = names.map(column).collect::<Result<_, Error>>()?;
        Ok(Printed { rtt_ms: files.rtt_ms, points: columns.column(by)?, algorithms })
    };
    FILES.iter().map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_as_printed() {
        let tables = printed(Kind::IsolatedLatency).unwrap();
        let rtts: Vec<u32> = tables.iter().map(|table| table.rtt_ms).collect();
        assert_eq!(rtts, [100, 200, 300]);
        for table in &tables {
            assert_eq!((table.points.len(), table.algorithms.len()), (15, 9));
        }
        assert_eq!(tables[1].value(0.01, "hybla"), Some(0.80343));
        assert_eq!(tables[1].value(0.03, "hybla"), None);
    }

    #[test]
    fn largest_bandwidth_has_the_smallest_burst_loss_rate() {
        let tables = printed(Kind::BurstRate).unwrap();
        assert_eq!(tables[0].value(10000.0, "hybla"), Some(0.00055));
        assert_eq!(tables[0].value(400.0, "hybla"), Some(2.18584));
        let latencies = printed(Kind::BurstLatency).unwrap();
        assert_eq!(latencies[0].value(10000.0, "hybla"), Some(0.106783));
    }
}
