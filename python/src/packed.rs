//! The results of simulations as a Parquet file, which other packages read, and back.

use std::error::Error;

use arrow_array::StructArray;
use bytes::Bytes;
use kirikae_results::contest::Kept;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use crate::rows;
use crate::tables::{Played, simulations};

/// The most simulations of a batch, which is read in one piece.
const MOST: usize = 10_000;

/// A row for each simulation of the scenario that is called so.
///
/// # Errors
/// What cannot be written as Parquet.
pub fn pack(scenario: &str, kept: &[Kept]) -> Result<Vec<u8>, ParquetError> {
    let played = kept.iter().map(|(performance, play)| Played {
        scenario,
        play,
        performance: performance.as_ref(),
    });
    let table = simulations(&played.collect::<Vec<_>>());
    let schema = table.schema();
    // Whole numbers by their differences; texts by their places in a dictionary. Packing must not take longer than
    // what it saves.
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false);
    for column in ArrowSchemaConverter::new().convert(&schema)?.columns() {
        if column.physical_type() == Type::BYTE_ARRAY {
            properties = properties.set_column_dictionary_enabled(column.path().clone(), true);
        }
    }
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties.build()))?;
    writer.write(&table)?;
    writer.into_inner()
}

/// The results of the simulations in such a file.
///
/// # Errors
/// A file that is damaged, or of another kind.
pub fn unpack(file: Bytes) -> Result<Vec<Kept>, Box<dyn Error + Send + Sync>> {
    let file = ParquetRecordBatchReaderBuilder::try_new(file)?;
    if file.schema().fields() != simulations(&[]).schema().fields() {
        return Err("other columns than those of a simulation".into());
    }
    let mut kept = Vec::new();
    for simulations in file.with_batch_size(MOST).build()? {
        kept.extend(rows::kept(&StructArray::from(simulations?))?);
    }
    Ok(kept)
}
