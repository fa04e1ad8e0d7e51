//! The guards of the policy's scopes: what they find out, and what they do with a scope (docs/guard.md).

use std::collections::BTreeMap;

use kirikae_agent::{Agent, Error};
use kirikae_guard::{Ask, Guard};
use kirikae_policy::{Policy, Scope};

use crate::status::Guarding;

/// The guards by the names of their scopes; not every scope has one.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    of: BTreeMap<String, Guarded>,
}

/// A scope with its guard.
#[derive(Clone, Debug)]
struct Guarded {
    guard: Guard,
    /// The scope as the operator wants it.
    scope: Scope,
    /// The guard's epoch in which the scope is.
    epoch: u32,
    /// Whether it is only observed because switching hurts.
    is_suspended: bool,
}

impl Guarded {
    fn new(scope: &Scope) -> Guarded {
        let guard = Guard::new(scope.holdback);
        Guarded { guard, scope: scope.clone(), epoch: 0, is_suspended: false }
    }

    /// The scope, as far as the guard allows it.
    fn allowed(&self) -> Scope {
        match self.guard.asks() {
            Ask::Observe => Scope { observed: true, ..self.scope.clone() },
            Ask::HoldBack(holdback) => Scope { holdback, ..self.scope.clone() },
        }
    }

    /// Does what the guard asks for. Returns whether the scope is only observed from now on.
    fn obey(&mut self, agent: &mut Agent, number: usize) -> Result<bool, Error> {
        let is_to_be_suspended = self.guard.asks() == Ask::Observe;
        let is_news = is_to_be_suspended && !self.is_suspended;
        if is_to_be_suspended != self.is_suspended {
            agent.put_scope(number, self.allowed())?;
        } else if self.guard.epoch() != self.epoch {
            agent.hold_back(number, self.allowed().holdback)?;
        }
        (self.epoch, self.is_suspended) = (self.guard.epoch(), is_to_be_suspended);
        Ok(is_news)
    }
}

impl Guards {
    /// Returns the guards for a new policy, and that policy with what they do to its scopes. A scope that
    /// still holds back the same share keeps its guard, what the guard knows, and whether it is only
    /// observed.
    pub fn under(&self, policy: &Policy) -> (Guards, Policy) {
        let guarded = |scope: &Scope| {
            let kept = self.of.get(&scope.name);
            match kept.filter(|it| it.scope.holdback == scope.holdback) {
                Some(kept) => Guarded { scope: scope.clone(), ..kept.clone() },
                None => Guarded::new(scope),
            }
        };
        let scopes = policy.scopes.iter().filter(|scope| scope.guard && !scope.observed);
        let of: BTreeMap<_, _> = scopes.map(|scope| (scope.name.clone(), guarded(scope))).collect();
        let allowed =
            |scope: &Scope| of.get(&scope.name).map_or_else(|| scope.clone(), Guarded::allowed);
        let policy = Policy { scopes: policy.scopes.iter().map(allowed).collect() };
        (Guards { of }, policy)
    }

    /// Has each guard look at what was counted, and does what follows. Returns a line for each scope that is
    /// only observed from now on, with the reason.
    ///
    /// # Errors
    /// Fails if the kernel's counts cannot be read, or if the kernel refuses a changed policy.
    pub fn look(&mut self, agent: &mut Agent) -> Result<Vec<String>, Error> {
        let mut told = Vec::new();
        for number in 0..agent.policy().scopes.len() {
            let name = agent.policy().scopes[number].name.clone();
            let Some(guarded) = self.of.get_mut(&name) else { continue };
            guarded.guard.look(guarded.epoch, &agent.spans(number)?);
            if guarded.obey(agent, number)? {
                let verdict = guarded.guard.verdict();
                told.push(format!(
                    "scope {name}: {verdict}; it is only observed until `kirikae resume`"
                ));
            }
        }
        Ok(told)
    }

    /// Switches again in one scope, or in all, that is only observed because switching hurts. Everything is
    /// counted anew.
    ///
    /// # Errors
    /// Fails if there is no such scope, if the scope has no guard, or if the kernel refuses the changed
    /// policy.
    pub fn resume(&mut self, agent: &mut Agent, scope: Option<&str>) -> Result<(), String> {
        if let Some(name) = scope.filter(|name| !self.of.contains_key(*name)) {
            let known: Vec<&str> = self.of.keys().map(String::as_str).collect();
            return Err(format!("no scope {name:?} with a guard; allowed: {}", known.join(", ")));
        }
        for number in 0..agent.policy().scopes.len() {
            let name = agent.policy().scopes[number].name.clone();
            let is_meant = scope.is_none_or(|scope| scope == name);
            let Some(guarded) = self.of.get_mut(&name).filter(|_| is_meant) else { continue };
            guarded.guard.resume();
            guarded.obey(agent, number).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// How many scopes are only observed because switching hurts.
    pub fn suspended(&self) -> usize {
        self.of.values().filter(|it| it.is_suspended).count()
    }

    /// What the guard of a scope knows; None for a scope without a guard.
    pub fn of(&self, scope: &str) -> Option<Guarding> {
        let Guarded { guard, is_suspended, .. } = self.of.get(scope)?;
        let verdict = guard.verdict();
        let estimate = verdict.estimate();
        Some(Guarding {
            verdict: verdict.name().into(),
            says: verdict.to_string(),
            ratio: estimate.map(|it| [it.least, it.ratio, it.most]),
            bursts: estimate.map_or(0, |it| it.bursts),
            suspended: *is_suspended,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(name: &str, holdback: f64) -> Policy {
        let table = kirikae_table::shipped().kernel_table().into();
        Policy::one(Scope { name: name.into(), holdback, ..Scope::new(table) })
    }

    #[test]
    fn a_scope_keeps_its_guard_over_a_reload() {
        let (mut guards, _) = Guards::default().under(&policy("web", 0.02));
        guards.of.get_mut("web").unwrap().is_suspended = true;
        let is_suspended = |policy: &Policy| guards.under(policy).0.suspended() == 1;
        assert!(is_suspended(&policy("web", 0.02)));
        assert!(!is_suspended(&policy("web", 0.1)), "another share is another experiment");
        assert!(!is_suspended(&policy("desks", 0.02)));
        let mut unguarded = policy("web", 0.02);
        unguarded.scopes[0].guard = false;
        assert_eq!(guards.under(&unguarded).0.of("web"), None);
        assert_eq!(guards.under(&policy("web", 0.02)).1.scopes[0].holdback, 0.02);
    }

    #[test]
    fn what_holds_nothing_back_cannot_be_judged() {
        let (guards, _) = Guards::default().under(&policy("web", 0.0));
        let guarding = guards.of("web").unwrap();
        assert_eq!((guarding.verdict.as_str(), guarding.ratio), ("cannot-judge", None));
        assert!(guarding.says.contains("holds nothing back"), "{}", guarding.says);
    }
}
