//! Who is switched in a run, and how.

use kirikae_policy::{SCOPES, Scope};
use kirikae_scenario::{Contender, Controls, Scenario};

use crate::error::Error;
use crate::r_tcp;

/// Connections that the run's agent switches alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Switched {
    /// What holds for them.
    pub scope: Scope,
    /// Whether the choice is the thesis'.
    pub is_r_tcp: bool,
}

impl Switched {
    /// The connections of a contender in a scenario; None if they are not switched.
    pub fn of(contender: Contender, scenario: &Scenario, controls: &Controls) -> Option<Switched> {
        let is_r_tcp = contender == Contender::RTcp;
        let scope = match contender {
            Contender::RTcp => controls.r_tcp_scope(scenario),
            _ if contender.is_kirikae() => controls.scope(scenario),
            _ => return None,
        };
        Some(Switched { scope, is_r_tcp })
    }

    /// The different ones of a run, for its one agent.
    ///
    /// # Errors
    /// Fails if there are more than an agent has scopes.
    pub fn all(scenarios: &[Scenario], controls: &Controls) -> Result<Vec<Switched>, Error> {
        let mut all: Vec<Switched> = Vec::new();
        for scenario in scenarios {
            let of = |contender| Switched::of(contender, scenario, controls);
            for switched in scenario.everyone().filter_map(of) {
                if !all.contains(&switched) {
                    all.push(switched);
                }
            }
            if all.len() > SCOPES {
                return Err(kirikae_results::Error::Incompatible(format!(
                    "{}: scope: one more that is different; allowed: {SCOPES} different ones in a run",
                    scenario.file.display(),
                ))
                .into());
            }
        }
        Ok(all)
    }

    /// The in-kernel names of the algorithms of ours that they may be given.
    pub fn algorithms(&self) -> Vec<String> {
        if self.is_r_tcp { r_tcp::table().names() } else { self.scope.algorithms() }
    }
}
