//! The table shipped: the published one of the thesis, restricted to the candidates that exist.
//!
//! Source: rtcp (Oguchi 2016), Figs 4-9 to 4-17, in `tables/oguchi-2016/`.
//!
//! The thesis knows no bbr, and a figure measured today does not compare with its latencies of a
//! Linux of 2010. The rule for bbr is that it is no candidate: in every scenario of
//! `docs/measurements.md` it answers later than the candidates do, or as soon. A connection that
//! is found in bbr is therefore switched with its first choice.

use crate::kernel_table::{KernelTable, NAME_BYTES, POINTS};

const PPB: f64 = 1e9;
const US: f64 = 1e6;

/// A candidate: its column in the files, its in-kernel name, and the kernel's own algorithm that
/// the column also describes. The first one also stands for algorithms that no column describes.
struct Candidate {
    column: &'static str,
    name: &'static str,
    also: &'static str,
}

const CANDIDATES: [Candidate; 4] = [
    Candidate { column: "cubic", name: "kk_cubic", also: "cubic" },
    Candidate { column: "hybla", name: "kk_hybla", also: "hybla" },
    Candidate { column: "scalable", name: "kk_scalable", also: "scalable" },
    Candidate { column: "westwood", name: "kk_westwood", also: "westwood" },
];

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

/// Why a table's files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not CSV.
    #[error("latency table: {0}")]
    Csv(#[from] csv::Error),
    /// A column is missing, has a value that is no number, or more rows than the kernel takes.
    #[error("latency table at RTT {rtt_ms} ms: column {column}: {problem}")]
    Column {
        /// Which of the tables.
        rtt_ms: u32,
        /// The column looked for.
        column: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// In-kernel names of the algorithms that the shipped table lets the switcher choose among.
pub fn candidates() -> impl Iterator<Item = &'static str> {
    CANDIDATES.iter().map(|candidate| candidate.name)
}

/// The table that ships with Kirikae.
pub fn shipped() -> Result<Box<KernelTable>, Error> {
    let mut table = KernelTable::empty();
    table.algorithms = CANDIDATES.len() as u32;
    table.rtts = FILES.len() as u32;
    for (i, candidate) in CANDIDATES.iter().enumerate() {
        table.name[i] = padded(candidate.name);
        table.also[i] = padded(candidate.also);
    }
    for (rtt, files) in FILES.iter().enumerate() {
        table.rtt_us[rtt] = files.rtt_ms * 1000;
        let isolated = Columns::read(files.rtt_ms, files.isolated)?;
        let burst_rate = Columns::read(files.rtt_ms, files.burst_rate)?;
        let burst_latency = Columns::read(files.rtt_ms, files.burst_latency)?;

        let losses = isolated.column("isolated_loss_rate")?;
        table.losses = losses.len() as u32;
        for (point, loss) in losses.iter().enumerate() {
            table.loss_ppb[point] = scaled(*loss, PPB);
        }
        table.bandwidths = burst_rate.column("bandwidth_kbps")?.len() as u32;

        for (i, candidate) in CANDIDATES.iter().enumerate() {
            let seconds = format!("{}_s", candidate.column);
            let percent = format!("{}_percent", candidate.column);
            for (point, latency) in isolated.column(&seconds)?.into_iter().enumerate() {
                table.isolated_us[rtt][point][i] = scaled(latency, US);
            }
            for (point, rate) in burst_rate.column(&percent)?.into_iter().enumerate() {
                table.burst_ppb[rtt][i][point] = scaled(rate, PPB / 100.0);
            }
            // Printed with both columns ascending, but the smallest burst loss rate belongs to
            // the largest bandwidth (section 6.3.4): the pairing is read in reverse.
            for (point, latency) in burst_latency.column(&seconds)?.into_iter().rev().enumerate() {
                table.bandwidth_us[rtt][point][i] = scaled(latency, US);
            }
        }
    }
    Ok(table)
}

fn scaled(value: f64, scale: f64) -> u32 {
    (value * scale).round() as u32
}

fn padded(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

/// A CSV file with a header line.
pub(crate) struct Columns {
    rtt_ms: u32,
    pub header: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
}

impl Columns {
    pub fn read(rtt_ms: u32, text: &str) -> Result<Columns, Error> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers()?.clone();
        Ok(Columns { rtt_ms, header, rows: reader.records().collect::<Result<_, _>>()? })
    }

    pub fn column(&self, name: &str) -> Result<Vec<f64>, Error> {
        let error =
            |problem| Error::Column { rtt_ms: self.rtt_ms, column: name.to_owned(), problem };
        let index = self.header.iter().position(|h| h == name).ok_or(error("is missing"))?;
        if self.rows.len() > POINTS {
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
    fn shipped_table_has_the_printed_values() {
        let table = shipped().unwrap();
        assert_eq!(table.names(), ["kk_cubic", "kk_hybla", "kk_scalable", "kk_westwood"]);
        assert_eq!(table.rtt_us[..3], [100_000, 200_000, 300_000]);
        assert_eq!((table.losses, table.bandwidths), (15, 15));
        assert_eq!(table.loss_ppb[12], 10_000_000);
        assert_eq!(table.isolated_us[1][12][1], 803_430, "hybla, RTT 200 ms, 1 %");
        assert_eq!(table.isolated_us[1][12][3], 866_206, "westwood, RTT 200 ms, 1 %");
    }

    #[test]
    fn smallest_burst_loss_rate_belongs_to_largest_bandwidth() {
        let table = shipped().unwrap();
        assert_eq!(table.burst_ppb[1][1][0], 5_500, "hybla's smallest rate, 0.00055 %");
        assert_eq!(table.bandwidth_us[1][0][1], 157_454, "hybla at 10 Mb/s");
        for rtt in 0..3 {
            for algorithm in 0..4 {
                let rates = &table.burst_ppb[rtt][algorithm][..15];
                assert!(rates.is_sorted(), "nearest() needs ascending rates: {rates:?}");
            }
        }
    }
}
