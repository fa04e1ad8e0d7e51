//! `--table TABLE.csv`

use std::fs;
use std::sync::Arc;

use kirikae_table::{KernelTable, LatencyTable};

/// Reads a table; the error has file and line.
pub fn read(file: &str) -> Result<LatencyTable, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    LatencyTable::parse(&text).map_err(|error| format!("{file}: {error}"))
}

/// Reads a table into the kernel's form; the error has file and line.
pub fn parse(file: &str) -> Result<Arc<KernelTable>, String> {
    read(file).map(|table| KernelTable::new(&table).into())
}

/// The one given, or the one that ships.
pub fn or_shipped(table: Option<&Arc<KernelTable>>) -> Arc<KernelTable> {
    table.map_or_else(|| KernelTable::new(kirikae_table::shipped()).into(), Arc::clone)
}
