//! The algorithms and the tables that the contenders of a comparison use.

use std::sync::Arc;
use std::time::Duration;

use kirikae_algorithms::Algorithm;
use kirikae_policy::{Scope, Timeouts, WarmStart};
use kirikae_settings::Refusal;
use kirikae_table::{KernelTable, thesis};

use crate::Scenario;

/// The congestion controls of a comparison.
#[derive(Clone, Debug)]
pub struct Controls {
    /// Every algorithm that may contend, with its parameters.
    pub algorithms: Vec<Algorithm>,
    /// The table by which the switcher chooses, unless the scenario's scope names one.
    pub table: Arc<KernelTable>,
    /// What R-TCP as published may choose, of the thesis' candidates by their names there, the one that
    /// connections begin with first.
    pub r_tcp: Vec<&'static str>,
}

/// All algorithms, the table that ships with the usual friendliness, and all that R-TCP chooses among.
impl Default for Controls {
    fn default() -> Self {
        Controls {
            algorithms: Algorithm::all().collect(),
            table: Arc::clone(Scenario::usual_table()),
            r_tcp: thesis::CANDIDATES.to_vec(),
        }
    }
}

impl Controls {
    /// The settings for the connections of a scenario that are switched.
    pub fn scope(&self, scenario: &Scenario) -> Scope {
        let mut scope = scenario.scope.clone();
        if scenario.choice.is_none() {
            scope.table = Arc::clone(&self.table);
        }
        scope
    }

    /// The settings for the connections of a scenario that are switched as published: R-TCP has the period of
    /// the scope, and nothing else that an operator may say.
    pub fn r_tcp_scope(&self, scenario: &Scenario) -> Scope {
        Scope {
            period: scenario.scope.period,
            timeouts: Timeouts::Kernel,
            least_rtt: Duration::ZERO,
            warm_start: WarmStart::None,
            path_lifetime: Duration::ZERO,
            ..Scope::new(Arc::clone(&self.table))
        }
    }
}

/// Refuses scenarios whose scope says what may be chosen. It is called if the command line says so, too.
///
/// # Errors
/// Fails with the first such scenario, its file and line.
pub fn refuse_second_choice(scenarios: &[Scenario]) -> Result<(), Refusal> {
    scenarios.iter().find_map(|scenario| scenario.choice.clone()).map_or(Ok(()), Err)
}
