//! What the contenders of a comparison are made of.

use std::sync::Arc;

use kirikae_algorithms::Algorithm;
use kirikae_table::KernelTable;

/// The congestion controls of a comparison.
#[derive(Clone, Debug)]
pub struct Controls {
    /// Every algorithm that may contend, with its parameters.
    pub algorithms: Vec<Algorithm>,
    /// What the switcher chooses by.
    pub table: Arc<KernelTable>,
}

/// All algorithms, and the table that ships under the default policy.
impl Default for Controls {
    fn default() -> Self {
        Controls {
            algorithms: Algorithm::all().collect(),
            table: KernelTable::new(kirikae_table::usual()).into(),
        }
    }
}
