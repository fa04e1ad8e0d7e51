//! What the senders knew while they were simulated, as a table: that of `kirikae-lab sim --trace`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema};
use kirikae_results::contest::Contest;
use kirikae_results::{Error, While};
use kirikae_scenario::{Controls, Scenario};
use kirikae_simlab::sim::{self, Files, Format, Options};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

use crate::columns::Columns;

/// Rows that are read at a time.
const ROWS: usize = 1 << 17;

/// Where traces are written, since the laboratory writes them into directories alone. It is removed in the end; then
/// whoever still writes fails, which ends it.
pub struct Directory(TempDir);

impl Directory {
    /// # Errors
    /// A directory that cannot be made.
    pub fn new() -> Result<Directory, Error> {
        tempfile::tempdir().map(Directory).during(|| "making a directory".into())
    }

    /// The one for traces in it.
    pub fn path(&self) -> PathBuf {
        self.0.path().join("traces")
    }
}

impl Drop for Directory {
    /// What is being removed must not grow: nobody finds it any more.
    fn drop(&mut self) {
        let _ = fs::rename(self.path(), self.0.path().join("ended"));
    }
}

/// Simulates every contender of every scenario with each seed, and gives a row for each segment that a sending end has
/// dealt with, scenario by scenario, contender by contender, seed by seed. The directory is for files, and not there.
///
/// # Errors
/// A scenario that cannot be simulated, files that cannot be written.
pub fn traced(
    scenarios: &[Scenario],
    controls: &Controls,
    directory: &Path,
) -> Result<RecordBatch, Error> {
    let mut all = Vec::new();
    for (place, scenario) in scenarios.iter().enumerate() {
        let directory = directory.join(place.to_string());
        let trace = Some((directory.clone(), Format::Parquet));
        let files = Files { trace, ..Files::default() };
        let options = Options { output: None, files, controls: controls.clone() };
        sim::run(std::slice::from_ref(scenario), &options)?;
        for contest in Contest::of(scenario) {
            let rows = rows(&contest, &directory);
            all.extend(rows.map_err(|error| Error::Failed(format!("reading a trace: {error}")))?);
        }
    }
    let schema = all.first().map_or(Arc::new(Schema::empty()), RecordBatch::schema);
    Ok(arrow_select::concat::concat_batches(&schema, &all).expect("tables of the same columns"))
}

/// The rows of a contest, of whose scenario the directory has the files.
fn rows(contest: &Contest, directory: &Path) -> Result<Vec<RecordBatch>, ArrowError> {
    let Contest { scenario, contender, seed } = contest;
    let ending = match scenario.repetitions {
        1 => format!(".{contender}.parquet"),
        _ => format!(".{contender}.{seed}.parquet"),
    };
    let files = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    let file = files.iter().find(|it| it.file_name().to_string_lossy().ends_with(&ending));
    let file = File::open(file.expect("each contest has a file").path())?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(ROWS).build()?;
    reader.map(|rows| told(contest, &rows?)).collect()
}

/// With what was simulated before each row; whole numbers are as in other tables.
fn told(contest: &Contest, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let Contest { scenario, contender, seed } = contest;
    let told = Columns::of(std::iter::repeat_n((), rows.num_rows()))
        .text("scenario", |()| &scenario.title)
        .text("contender", |()| contender.name())
        .whole("seed", |()| *seed)
        .table();
    let whole = |column: &ArrayRef| -> ArrayRef {
        match column.data_type() {
            DataType::UInt32 => {
                Arc::new(column.as_primitive::<UInt32Type>().unary::<_, UInt64Type>(u64::from))
            }
            _ => Arc::clone(column),
        }
    };
    let columns = [&told, rows].into_iter().flat_map(|it| {
        let fields = it.schema_ref().fields().iter().zip(it.columns());
        fields.map(|(field, column)| (field.name(), whole(column), field.is_nullable()))
    });
    RecordBatch::try_from_iter_with_nullable(columns)
}
