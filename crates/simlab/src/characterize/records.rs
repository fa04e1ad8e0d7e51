//! What was measured of every algorithm at every place, as a Parquet file.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kirikae_results::{Error, While};
use kirikae_table::{Load, Place};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RecordWriter;
use parquet_derive::ParquetRecordWriter;

use super::Options;
use super::grid_file::GridFile;
use super::measurement::Measurement;

/// Rows of a row group.
const ROW_GROUP: usize = 1 << 16;

/// A row: an algorithm at a place.
#[derive(ParquetRecordWriter)]
struct Row<'a> {
    rtt_ms: f64,
    rate_mbit: f64,
    /// None: a stream.
    burst_bytes: Option<u32>,
    stream_share: Option<f64>,
    loss: f64,
    burst_loss: f64,
    queue: u32,
    algorithm: &'a str,
    repetitions: u32,
    writes: u32,
    unfinished: u32,
    mean_s: f64,
    half_width_s: f64,
    p50_s: f64,
    p95_s: f64,
    segments: u64,
    isolated: u64,
    isolated_rate: f64,
    bursts: u64,
    capped: bool,
}

/// The file, which is not there yet.
pub(super) struct Records(PathBuf);

impl Records {
    /// Where the options say, if they do.
    ///
    /// # Errors
    /// Those of [`Records::plan`].
    pub fn of(options: &Options) -> Result<Option<Records>, Error> {
        let plan = |directory: &PathBuf| Records::plan(directory, &options.output);
        options.records.as_ref().map(plan).transpose()
    }

    /// `<table>.parquet` in a directory, which is made.
    ///
    /// # Errors
    /// A directory that cannot be made, or a file that is there already.
    fn plan(directory: &Path, table: &Path) -> Result<Records, Error> {
        fs::create_dir_all(directory).of_directory(|| format!("making {}", directory.display()))?;
        let stem = table.file_stem().unwrap_or_default();
        let path = directory.join(stem).with_extension("parquet");
        if path.symlink_metadata().is_ok() {
            return Err(Error::Exists(path));
        }
        Ok(Records(path))
    }

    /// Writes it: of each place what each algorithm did.
    pub fn write(&self, grid: &GridFile, measured: &[Vec<Measurement>]) -> Result<(), Error> {
        let rows: Vec<Row> = grid
            .grid
            .places()
            .zip(measured)
            .flat_map(|(place, measured)| {
                let names = grid.algorithms.iter().map(|algorithm| algorithm.name());
                names.zip(measured).map(move |(name, measurement)| row(&place, name, measurement))
            })
            .collect();
        let writing = || format!("writing {}", self.0.display());
        let file = File::create_new(&self.0).during(writing)?;
        write(file, &rows).map_err(std::io::Error::other).during(writing)
    }
}

fn write(file: File, rows: &[Row]) -> Result<(), ParquetError> {
    let properties = Arc::new(WriterProperties::new());
    let mut writer = SerializedFileWriter::new(BufWriter::new(file), rows.schema()?, properties)?;
    for rows in rows.chunks(ROW_GROUP) {
        let mut group = writer.next_row_group()?;
        rows.write_to_row_group(&mut group)?;
        group.close()?;
    }
    writer.close().map(drop)
}

fn row<'a>(place: &Place, algorithm: &'a str, measurement: &Measurement) -> Row<'a> {
    let Measurement {
        repetitions,
        writes,
        unfinished,
        mean_s,
        half_width_s,
        p50_s,
        p95_s,
        segments,
        isolated,
        isolated_rate,
        bursts,
        capped,
    } = *measurement;
    let (burst_bytes, stream_share) = match place.load {
        Load::Burst(bytes) => (Some(bytes), None),
        Load::Stream(share) => (None, Some(share)),
    };
    Row {
        rtt_ms: f64::from(place.rtt_us) / 1e3,
        rate_mbit: place.rate as f64 / 1e6,
        burst_bytes,
        stream_share,
        loss: place.condition.loss,
        burst_loss: place.condition.burst_loss,
        queue: place.condition.queue,
        algorithm,
        repetitions,
        writes,
        unfinished,
        mean_s,
        half_width_s,
        p50_s,
        p95_s,
        segments,
        isolated,
        isolated_rate,
        bursts,
        capped,
    }
}
