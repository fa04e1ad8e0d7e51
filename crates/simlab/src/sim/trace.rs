//! The sender's state after each ACK, as a table.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kirikae_algorithms::CaState;
use kirikae_path::Time;
use kirikae_results::{Error, While};
use kirikae_sim::{End, Observer};
use kirikae_tcp::Endpoint;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RecordWriter;
use parquet_derive::ParquetRecordWriter;
use serde::Serialize;

use super::files::create;

/// Rows of a row group: Parquet keeps them in memory, column by column, until it is full.
const ROW_GROUP: usize = 1 << 16;

/// How the table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a header.
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    pub(super) fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
        }
    }
}

/// A row: what the sender knew when it had dealt with an ACK.
#[derive(Debug, Serialize, ParquetRecordWriter)]
struct Row {
    /// Since the simulation began.
    time_s: f64,
    /// The connection's place in the scenario.
    flow: u32,
    /// Which of its ends.
    end: &'static str,
    algorithm: &'static str,
    /// Of congestion control, as `ss` writes it.
    state: &'static str,
    /// Segments.
    cwnd: u32,
    /// Segments; none while it is infinite.
    ssthresh: Option<u32>,
    /// None before the first sample.
    srtt_us: Option<u32>,
    /// With back-off.
    rto_us: u64,
    /// Segments neither delivered nor held for lost, and those sent again.
    inflight: u32,
    /// Their bytes.
    inflight_bytes: u64,
    /// Where the connection paces.
    pacing_bytes_per_s: Option<u64>,
    /// Segments delivered so far, the SYN included.
    delivered: u32,
    /// Segments held for lost so far, rightly or not.
    lost: u32,
    /// Bytes sent again so far.
    retransmitted_bytes: u64,
}

/// Writes a row for each segment that an end which sends data has dealt with.
pub(super) struct Trace {
    path: PathBuf,
    table: Table,
    /// What went wrong first; nothing is written after it.
    written: Result<(), Error>,
}

enum Table {
    Csv(Box<csv::Writer<File>>),
    Parquet { writer: Box<SerializedFileWriter<BufWriter<File>>>, rows: Vec<Row> },
}

impl Trace {
    /// Creates the file.
    pub fn create(path: PathBuf, format: Format) -> Result<Trace, Error> {
        let file = create(&path)?;
        let table = match format {
            Format::Csv => Table::Csv(Box::new(csv::Writer::from_writer(file))),
            Format::Parquet => {
                let schema = (&[] as &[Row]).schema().expect("Parquet knows every type of a row");
                let properties = Arc::new(WriterProperties::new());
                let writer = SerializedFileWriter::new(BufWriter::new(file), schema, properties);
                let writer = Box::new(writer.map_err(io).during(|| writing(&path))?);
                Table::Parquet { writer, rows: Vec::with_capacity(ROW_GROUP) }
            }
        };
        Ok(Trace { path, table, written: Ok(()) })
    }

    /// Writes what is not written yet.
    pub fn finish(self) -> Result<(), Error> {
        self.written?;
        let finished = match self.table {
            Table::Csv(mut writer) => writer.flush(),
            Table::Parquet { mut writer, mut rows } => write_group(&mut writer, &mut rows)
                .and_then(|()| writer.close().map(drop))
                .map_err(io),
        };
        finished.during(|| writing(&self.path))
    }
}

impl Observer for Trace {
    fn received(&mut self, now: Time, flow: usize, end: End, endpoint: &Endpoint) {
        if self.written.is_ok()
            && let Some(row) = row(now, flow, end, endpoint)
        {
            self.written = self.table.write(row).during(|| writing(&self.path));
        }
    }
}

impl Table {
    fn write(&mut self, row: Row) -> std::io::Result<()> {
        match self {
            Table::Csv(writer) => Ok(writer.serialize(row)?),
            Table::Parquet { writer, rows } => {
                rows.push(row);
                if rows.len() < ROW_GROUP { Ok(()) } else { write_group(writer, rows).map_err(io) }
            }
        }
    }
}

fn write_group(
    writer: &mut SerializedFileWriter<BufWriter<File>>,
    rows: &mut Vec<Row>,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    rows.as_slice().write_to_row_group(&mut group)?;
    rows.clear();
    group.close().map(drop)
}

/// None before the first write.
fn row(now: Time, flow: usize, end: End, endpoint: &Endpoint) -> Option<Row> {
    let socket = endpoint.socket()?;
    let (inflight, inflight_bytes) = endpoint.in_flight()?;
    let fields = &socket.fields;
    Some(Row {
        time_s: now.as_nanos() as f64 / 1e9,
        flow: flow as u32,
        end: match end {
            End::Client => "client",
            End::Server => "server",
        },
        algorithm: socket.algorithm().name(),
        state: match socket.state() {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        },
        cwnd: fields.snd_cwnd,
        ssthresh: socket.finite_ssthresh(),
        // Kept in eighths.
        srtt_us: Some(fields.srtt_us >> 3).filter(|srtt_us| *srtt_us > 0),
        rto_us: endpoint.rto_us()?,
        inflight,
        inflight_bytes,
        pacing_bytes_per_s: socket.pacing(),
        delivered: fields.delivered,
        lost: fields.lost,
        retransmitted_bytes: fields.bytes_retrans,
    })
}

fn writing(path: &Path) -> String {
    format!("writing {}", path.display())
}

fn io(error: ParquetError) -> std::io::Error {
    std::io::Error::other(error)
}
