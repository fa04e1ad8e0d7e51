//! What the contenders of a comparison are made of.

use std::sync::Arc;

use kirikae_algorithms::Algorithm;
use kirikae_policy::Scope;
use kirikae_settings::Refusal;
use kirikae_table::KernelTable;

use crate::Scenario;

/// The congestion controls of a comparison.
#[derive(Clone, Debug)]
pub struct Controls {
    /// Every algorithm that may contend, with its parameters.
    pub algorithms: Vec<Algorithm>,
    /// What the switcher chooses by, where a scenario's scope does not say.
    pub table: Arc<KernelTable>,
}

/// All algorithms, and the table that ships under the default policy.
impl Default for Controls {
    fn default() -> Self {
        Controls {
            algorithms: Algorithm::all().collect(),
            table: Arc::clone(Scenario::usual_table()),
        }
    }
}

impl Controls {
    /// What holds for the connections of a scenario that are switched.
    pub fn scope(&self, scenario: &Scenario) -> Scope {
        let mut scope = scenario.scope.clone();
        if scenario.choice.is_none() {
            scope.table = Arc::clone(&self.table);
        }
        scope
    }
}

/// Refuses scenarios whose scope says what may be chosen, where whoever asks for the comparison says
/// so, too.
///
/// # Errors
/// The first such scenario, with file and line.
pub fn refuse_second_choice(scenarios: &[Scenario]) -> Result<(), Refusal> {
    scenarios.iter().find_map(|scenario| scenario.choice.clone()).map_or(Ok(()), Err)
}
