//! The tables of the thesis, by which R-TCP was published.
//!
//! Source: the thesis (Oguchi, 2016), Figs 4-9 to 4-17, in `tables/oguchi-2016/`.

use kirikae_interface::name_to_bytes;
use zerocopy::FromZeros;

/// `struct thesis_table` of `bpf/thesis/table.h`.
pub type Table = kirikae_interface::thesis_table;

const PPB: f64 = 1e9;
const US: f64 = 1e6;

/// The candidates, by their columns in the files. The first also stands for algorithms without a column.
pub const CANDIDATES: [&str; 9] =
    ["cubic", "hybla", "scalable", "westwood", "reno", "bic", "highspeed", "htcp", "vegas"];

pub(crate) struct Files {
    pub rtt_ms: u32,
    pub isolated: &'static str,
    pub burst_rate: &'static str,
    pub burst_latency: &'static str,
}

macro_rules! files {
    ($rtt:literal) => {
        Files {
            rtt_ms: $rtt,
            isolated: include_str!(concat!(
                "../../../tables/oguchi-2016/isolated_loss_latency_rtt",
                $rtt,
                "ms.csv"
            )),
            burst_rate: include_str!(concat!(
                "../../../tables/oguchi-2016/burst_loss_rate_by_bandwidth_rtt",
                $rtt,
                "ms.csv"
            )),
            burst_latency: include_str!(concat!(
                "../../../tables/oguchi-2016/burst_loss_latency_rtt",
                $rtt,
                "ms.csv"
            )),
        }
    };
}

pub(crate) const FILES: [Files; 3] = [files!(100), files!(200), files!(300)];

/// The reason why a table's files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not CSV.
    #[error("latency table: {0}")]
    Csv(#[from] csv::Error),
    /// A column is missing, has a value that is no number, or has more rows than the kernel takes.
    #[error("latency table at RTT {rtt_ms} ms: column {column}: {problem}")]
    Column {
        /// The round-trip time of the table, milliseconds.
        rtt_ms: u32,
        /// The name of the column.
        column: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

fn in_kernel(column: &str) -> String {
    format!("kk_{column}")
}

/// The thesis' tables.
///
/// # Errors
/// Fails if a file is not as it should be.
pub fn published() -> Result<Box<Table>, Error> {
    among(&CANDIDATES)
}

/// The same for some of the candidates only (section 4.7.1). A connection is taken to begin with the first
/// of them, so that is to be the one that connections have before.
///
/// # Errors
/// Fails if a file is not as it should be, or has no such candidate.
///
/// # Panics
/// If these are more than the thesis' candidates.
pub fn among(candidates: &[&str]) -> Result<Box<Table>, Error> {
    assert!(candidates.len() <= CANDIDATES.len(), "each candidate once: {candidates:?}");
    let mut table = Table::new_box_zeroed().expect("48 KB of memory");
    table.algorithms = candidates.len() as u32;
    table.rtts = FILES.len() as u32;
    for (i, candidate) in candidates.iter().enumerate() {
        table.name[i] = name_to_bytes(&in_kernel(candidate));
        table.also[i] = name_to_bytes(candidate);
    }
    for (rtt, files) in FILES.iter().enumerate() {
        table.rtt_us.at[rtt] = files.rtt_ms * 1000;
        let isolated = CsvFile::read(files.rtt_ms, files.isolated)?;
        let burst_rate = CsvFile::read(files.rtt_ms, files.burst_rate)?;
        let burst_latency = CsvFile::read(files.rtt_ms, files.burst_latency)?;

        let losses = isolated.column("isolated_loss_rate")?;
        table.losses = losses.len() as u32;
        for (point, loss) in losses.iter().enumerate() {
            table.loss_ppb.at[point] = scaled(*loss, PPB);
        }
        table.bandwidths = burst_rate.column("bandwidth_kbps")?.len() as u32;

        for (i, candidate) in candidates.iter().enumerate() {
            let seconds = format!("{candidate}_s");
            let percent = format!("{candidate}_percent");
            for (point, latency) in isolated.column(&seconds)?.into_iter().enumerate() {
                table.isolated_us[rtt][point].by_column[i] = scaled(latency, US);
            }
            for (point, rate) in burst_rate.column(&percent)?.into_iter().enumerate() {
                table.burst_ppb[rtt][i].at[point] = scaled(rate, PPB / 100.0);
            }
            // The print has both columns ascending, but the smallest burst loss rate belongs to the largest
            // bandwidth (section 6.3.4): so they are paired in reverse.
            for (point, latency) in burst_latency.column(&seconds)?.into_iter().rev().enumerate() {
                table.bandwidth_us[rtt][point].by_column[i] = scaled(latency, US);
            }
        }
    }
    Ok(table)
}

fn scaled(value: f64, scale: f64) -> u32 {
    (value * scale).round() as u32
}

/// A CSV file with a header line.
pub(crate) struct CsvFile {
    rtt_ms: u32,
    pub header: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
}

impl CsvFile {
    pub fn read(rtt_ms: u32, text: &str) -> Result<CsvFile, Error> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers()?.clone();
        Ok(CsvFile { rtt_ms, header, rows: reader.records().collect::<Result<_, _>>()? })
    }

    pub fn column(&self, name: &str) -> Result<Vec<f64>, Error> {
        let error =
            |problem| Error::Column { rtt_ms: self.rtt_ms, column: name.to_owned(), problem };
        let index = self.header.iter().position(|h| h == name).ok_or(error("is missing"))?;
        if self.rows.len() > kirikae_interface::THESIS_POINTS as usize {
            return Err(error("has more rows than the kernel takes"));
        }
        self.rows
            .iter()
            .map(|row| row[index].parse().map_err(|_| error("has a value that is no number")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values read off the thesis' print, Figs 4-10 and 4-16.
    #[test]
    fn tables_have_the_printed_values() {
        let table = published().unwrap();
        assert_eq!(table.names()[..4], ["kk_cubic", "kk_hybla", "kk_scalable", "kk_westwood"]);
        assert_eq!(table.rtt_us.at[..3], [100_000, 200_000, 300_000]);
        assert_eq!((table.losses, table.bandwidths), (15, 15));
        assert_eq!(table.loss_ppb.at[12], 10_000_000);
        assert_eq!(table.isolated_us[1][12].by_column[1], 803_430, "hybla, RTT 200 ms, 1 %");
        assert_eq!(table.isolated_us[1][12].by_column[3], 866_206, "westwood, RTT 200 ms, 1 %");
    }

    #[test]
    fn some_candidates_keep_their_values() {
        let (all, some) = (published().unwrap(), among(&["cubic", "westwood"]).unwrap());
        assert_eq!(some.names(), ["kk_cubic", "kk_westwood"]);
        let of = |table: &Table, column: usize| table.isolated_us[1][12].by_column[column];
        assert_eq!((of(&some, 0), of(&some, 1)), (of(&all, 0), of(&all, 3)));
        assert!(among(&["cubic", "illinois"]).is_err());
    }

    #[test]
    fn smallest_burst_loss_rate_belongs_to_largest_bandwidth() {
        let table = published().unwrap();
        assert_eq!(table.burst_ppb[1][1].at[0], 5_500, "hybla's smallest rate, 0.00055 %");
        assert_eq!(table.bandwidth_us[1][0].by_column[1], 157_454, "hybla at 10 Mb/s");
        for rtt in 0..3 {
            for algorithm in 0..9 {
                let rates = &table.burst_ppb[rtt][algorithm].at[..15];
                assert!(rates.is_sorted(), "nearest() needs ascending rates: {rates:?}");
            }
        }
    }
}
