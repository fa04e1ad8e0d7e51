//! The table that ships with Kirikae, `tables/default.csv`; `kirikae characterize tables/default.toml`
//! builds it.

use std::sync::LazyLock;

use crate::latency_table::LatencyTable;

static SHIPPED: LazyLock<LatencyTable> = LazyLock::new(|| {
    LatencyTable::parse(include_str!("../../../tables/default.csv"))
        .unwrap_or_else(|error| panic!("tables/default.csv: {error}"))
});

/// The table that ships with Kirikae.
pub fn shipped() -> &'static LatencyTable {
    &SHIPPED
}

/// In-kernel names of the algorithms that it lets the switcher choose among.
pub fn candidates() -> impl Iterator<Item = &'static str> {
    shipped().algorithms.iter().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte for byte what is written of it, so that rebuilding it shows no differences of form.
    #[test]
    fn the_table_is_as_it_would_be_written() {
        assert_eq!(shipped().to_text(), include_str!("../../../tables/default.csv"));
    }
}
