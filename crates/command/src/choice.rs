//! `--table TABLE.csv` and `--friendliness FRIENDLINESS`

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kirikae_provenance::table_is_stale;
use kirikae_table::{Friendliness, KernelTable, LatencyTable};

use crate::tell;

/// The options for the table to choose by, and for the candidates.
#[derive(clap::Args)]
pub struct Choice {
    /// The latency table to choose by [default: the one that ships]
    #[arg(long, value_name = "TABLE.csv", value_parser = read)]
    table: Option<Given>,
    /// Which of its candidates may be chosen, by how much they leave to competing cubic and reno
    /// (docs/friendliness.md) [default: balanced; all of a table given]
    #[arg(long, value_name = "FRIENDLINESS", value_parser = friendliness())]
    friendliness: Option<Friendliness>,
    /// What `--friendliness` was called
    #[arg(long, value_name = "FRIENDLINESS", hide = true, value_parser = renamed)]
    policy: Option<String>,
}

/// A table, and the file that it is from.
#[derive(Clone)]
struct Given {
    file: PathBuf,
    table: LatencyTable,
}

/// Reads a table; the error has file and line.
fn read(file: &str) -> Result<Given, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let table = LatencyTable::parse(&text).map_err(|error| format!("{file}: {error}"))?;
    Ok(Given { file: file.into(), table })
}

fn friendliness() -> impl TypedValueParser<Value = Friendliness> {
    PossibleValuesParser::new(Friendliness::ALL.map(Friendliness::name)).map(|name| {
        let named = Friendliness::ALL.into_iter().find(|it| it.name() == name);
        named.expect("one of the possible values")
    })
}

/// Refuses the old name of an option.
fn renamed(_: &str) -> Result<String, String> {
    Err("--policy is called --friendliness now".into())
}

impl Choice {
    /// Whether any of the options was given.
    pub fn is_given(&self) -> bool {
        self.table.is_some() || self.friendliness.is_some()
    }

    /// The friendliness that holds, whether or not one was named.
    pub fn friendliness(&self) -> Friendliness {
        match (self.friendliness, &self.table) {
            (None, Some(_)) => Friendliness::Fast,
            (said, _) => said.unwrap_or_default(),
        }
    }

    /// The table with the candidates that may be chosen. Warns if a given table was measured with other
    /// sources than this program has.
    pub fn table(&self) -> anyhow::Result<Cow<'_, LatencyTable>> {
        let Some(Given { file, table }) = &self.table else {
            let shipped = kirikae_table::shipped();
            return Ok(Cow::Owned(self.friendliness.unwrap_or_default().apply(shipped)?));
        };
        let chosen = match self.friendliness {
            None => Cow::Borrowed(table),
            Some(friendliness) => {
                Cow::Owned(friendliness.apply(table).with_context(|| file.display().to_string())?)
            }
        };
        if let Some(problem) = table_is_stale(&table.origin) {
            tell!("kirikae: warning: {}: {problem} (docs/tables.md)", file.display());
        }
        Ok(chosen)
    }

    /// The same table in the kernel's form.
    pub fn kernel_table(&self) -> anyhow::Result<Arc<KernelTable>> {
        Ok(self.table()?.kernel_table().into())
    }
}
