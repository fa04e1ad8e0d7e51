//! The table that ships with Kirikae, `tables/default.csv`; `kirikae-lab characterize tables/default.toml`
//! builds it.

use std::sync::LazyLock;

use crate::friendliness::Friendliness;
use crate::latency_table::{LatencyTable, OURS};

static SHIPPED: LazyLock<LatencyTable> = LazyLock::new(|| {
    LatencyTable::parse(include_str!("../../../tables/default.csv"))
        .unwrap_or_else(|error| panic!("tables/default.csv: {error}"))
});

static USUAL: LazyLock<LatencyTable> = LazyLock::new(|| {
    Friendliness::default()
        .apply(&SHIPPED)
        .unwrap_or_else(|error| panic!("tables/default.csv: {error}"))
});

/// The table that ships with Kirikae, with every candidate.
pub fn shipped() -> &'static LatencyTable {
    &SHIPPED
}

/// The table that ships with the candidates that the usual friendliness allows. It is used if nothing else is
/// asked for.
pub fn usual() -> &'static LatencyTable {
    &USUAL
}

/// In-kernel names of our algorithms among these candidates.
pub fn candidates() -> impl Iterator<Item = &'static str> {
    usual().algorithms.iter().map(String::as_str).filter(|name| name.starts_with(OURS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file is byte for byte what is written of it, so that rebuilding it shows no differences of form.
    #[test]
    fn the_table_is_as_it_would_be_written() {
        assert_eq!(shipped().to_text(), include_str!("../../../tables/default.csv"));
    }
}
