//! The guards of the policy's scopes: what they find out, and what they do with a scope or a cgroup of it
//! (docs/guard.md).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use kirikae_agent::{Agent, CgroupNames, Error, OTHERS, Share, SpanGroup};
use kirikae_guard::{Ask, Groups, Guard, Verdict};
use kirikae_policy::{Policy, Scope};

use crate::kept_suspensions::{self, Suspension, settings_of};
use crate::status::{GroupGuarding, Guarding};

/// The name of the group of all cgroups of a scope for which there was no room. No cgroup is called so: there is none
/// without a name.
const ALL_OTHERS: &str = "";

/// The guards by the names of their scopes; not every scope has one.
#[derive(Clone, Debug)]
pub(crate) struct Guards {
    of: BTreeMap<String, Guarded>,
    names: CgroupNames,
    /// Where what is suspended is kept.
    directory: PathBuf,
    /// What was kept of scopes that the policy does not have.
    unused: Vec<Suspension>,
}

/// A scope with its guards.
#[derive(Clone, Debug)]
struct Guarded {
    groups: Groups,
    /// The scope as the operator wants it.
    scope: Scope,
    /// Whether it is only observed because switching hurts, whatever the cgroup.
    is_suspended: bool,
    /// Since when cgroups are only observed, and the scope as a whole (None): seconds of the wall clock.
    since: BTreeMap<Option<String>, u64>,
}

impl Guarded {
    /// A scope with what was found out before.
    fn new(scope: &Scope, kept: &[Suspension]) -> Guarded {
        let mut groups = Groups::new(scope.holdback);
        let settings = settings_of(scope);
        let mut since = BTreeMap::new();
        for kept in kept.iter().filter(|it| it.scope == scope.name && it.settings == settings) {
            groups.suspend(kept.cgroup.as_deref(), kept.found());
            since.insert(kept.cgroup.clone(), kept.since);
        }
        groups.conclude();
        let is_suspended = groups.asks_to_observe();
        Guarded { groups, scope: scope.clone(), is_suspended, since }
    }

    /// The scope, as far as its guards allow it.
    fn allowed(&self) -> Scope {
        let observed = self.scope.observed || self.groups.asks_to_observe();
        Scope { observed, ..self.scope.clone() }
    }

    /// The share that a group is to hold back.
    fn share(&self, guard: &Guard) -> Share {
        match guard.asks() {
            Ask::Observe => Share::ALL,
            Ask::HoldBack(share) if share == self.scope.holdback => Share::OF_THE_SCOPE,
            Ask::HoldBack(share) => Share::own(share),
        }
    }

    /// Has the guards look at what was counted, and does what they ask for. Returns a line for what is only observed
    /// from now on.
    fn look(
        &mut self,
        agent: &mut Agent,
        number: usize,
        names: &mut CgroupNames,
    ) -> Result<Vec<String>, Error> {
        if self.is_suspended {
            return Ok(Vec::new());
        }
        let mut told = Vec::new();
        let mut seen = BTreeSet::new();
        // Whether open connections have to look which share they hold back.
        let mut are_to_look = false;
        for group in agent.spans(number)? {
            let name = match group.cgroup {
                OTHERS => Some(ALL_OTHERS.to_owned()),
                cgroup => names.name(cgroup),
            };
            let Some(name) = name else {
                agent.forget_spans(number, group.cgroup)?;
                continue;
            };
            let is_known = self.groups.guards().any(|(known, _)| known == name);
            if is_known || group.cgroup != OTHERS || group.sums.spans() != [0; 2] {
                are_to_look |= self.look_at(agent, number, &name, &group, &mut told)?;
            }
            seen.insert(name);
        }
        let known: Vec<String> = self.groups.guards().map(|(name, _)| name.to_owned()).collect();
        for name in known.iter().filter(|name| !seen.contains(*name)) {
            self.groups.forget(name);
            // A service that was started again is in a new cgroup of the same name.
            let guard = self.groups.guards().find(|(known, _)| known == name);
            if let Some(epoch) = guard.map(|(_, guard)| guard.epoch())
                && let Some(cgroup) = names.id(name).filter(|_| name != ALL_OTHERS)
            {
                agent.hold_back(number, cgroup, Share::ALL, epoch)?;
                are_to_look = true;
            }
        }
        self.groups.conclude();
        if self.groups.asks_to_observe() {
            self.is_suspended = true;
            self.since.insert(None, now());
            let (name, verdict) = (&self.scope.name, self.groups.verdict());
            told.push(format!(
                "scope {name}: {verdict}; it is only observed until `kirikae resume`"
            ));
            agent.put_scope(number, self.allowed())?;
        } else if are_to_look {
            agent.look_at_shares()?;
        }
        Ok(told)
    }

    /// Has the guard of one group look. Returns whether all of it is held back now and was not before, or the other way
    /// round.
    fn look_at(
        &mut self,
        agent: &Agent,
        number: usize,
        name: &str,
        group: &SpanGroup,
        told: &mut Vec<String>,
    ) -> Result<bool, Error> {
        let guard = self.groups.guard(name).clone();
        if (group.epoch, group.share) == (guard.epoch(), self.share(&guard)) {
            self.groups.look(name, group.epoch, &group.sums);
        }
        let now_is = self.groups.guard(name).clone();
        let wanted = (now_is.epoch(), self.share(&now_is));
        if (group.epoch, group.share) == wanted {
            return Ok(false);
        }
        agent.hold_back(number, group.cgroup, wanted.1, wanted.0)?;
        if now_is.hurts() && !guard.hurts() {
            self.since.insert(Some(name.to_owned()), now());
            let (scope, who, verdict) = (&self.scope.name, called(name), now_is.verdict());
            told.push(format!(
                "scope {scope}, {who}: {verdict}; it is only observed until `kirikae resume`"
            ));
        }
        Ok((group.share == Share::ALL) != (wanted.1 == Share::ALL))
    }

    /// Switches again, and counts everything anew.
    fn resume(
        &mut self,
        agent: &mut Agent,
        number: usize,
        names: &mut CgroupNames,
    ) -> Result<(), Error> {
        self.groups.resume();
        self.since.clear();
        if std::mem::take(&mut self.is_suspended) {
            agent.put_scope(number, self.allowed())?;
        }
        self.look(agent, number, names).map(drop)
    }

    /// What is only observed.
    fn suspensions(&self) -> Vec<Suspension> {
        let suspension = |cgroup: Option<&str>, verdict: Verdict| {
            let found = verdict.estimate()?;
            let cgroup = cgroup.map(str::to_owned);
            Some(Suspension {
                scope: self.scope.name.clone(),
                settings: settings_of(&self.scope),
                since: self.since.get(&cgroup).copied().unwrap_or_else(now),
                cgroup,
                ratio: [found.least, found.ratio, found.most],
                bursts: found.bursts,
            })
        };
        let whole = self.is_suspended.then(|| suspension(None, self.groups.verdict())).flatten();
        let named = self.groups.suspended().filter(|(name, _)| *name != ALL_OTHERS);
        let groups = named.filter_map(|(name, guard)| suspension(Some(name), guard.verdict()));
        whole.into_iter().chain(groups).collect()
    }
}

/// Seconds of the wall clock.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What a group is called where people read it: a cgroup's name may have any character.
fn called(group: &str) -> String {
    match group {
        ALL_OTHERS => "all other cgroups".into(),
        name => format!("cgroup {}", name.replace(char::is_control, "\u{fffd}")),
    }
}

impl Guards {
    /// No guards yet; but what was found out before, as it is kept in this directory, and a message to the operator if
    /// that cannot be read. `cgroup_root` is where cgroups have their names.
    pub fn load(directory: PathBuf, cgroup_root: &Path) -> (Guards, Option<String>) {
        let (unused, told) = match kept_suspensions::load(&directory) {
            Ok(kept) => (kept, None),
            Err(told) => (Vec::new(), Some(told)),
        };
        let names = CgroupNames::below(cgroup_root.into());
        (Guards { of: BTreeMap::new(), names, directory, unused }, told)
    }

    /// Returns the guards for a new policy, and that policy with what they do to its scopes. A scope that
    /// still holds back the same share keeps its guards, what they know, and what of it is only observed.
    pub fn under(&self, policy: &Policy) -> (Guards, Policy) {
        let guarded = |scope: &Scope| {
            let kept = self.of.get(&scope.name);
            match kept.filter(|it| it.scope.holdback == scope.holdback) {
                Some(kept) => Guarded { scope: scope.clone(), ..kept.clone() },
                None => Guarded::new(scope, &self.unused),
            }
        };
        let scopes = policy.scopes.iter().filter(|scope| scope.guard && !scope.observed);
        let of: BTreeMap<_, _> = scopes.map(|scope| (scope.name.clone(), guarded(scope))).collect();
        let allowed =
            |scope: &Scope| of.get(&scope.name).map_or_else(|| scope.clone(), Guarded::allowed);
        let allowed = Policy { scopes: policy.scopes.iter().map(allowed).collect() };
        let before = self.of.values().flat_map(Guarded::suspensions);
        let is_unused = |it: &Suspension| !policy.scopes.iter().any(|scope| scope.name == it.scope);
        let unused = self.unused.iter().cloned().chain(before).filter(is_unused).collect();
        let (names, directory) = (self.names.clone(), self.directory.clone());
        (Guards { of, names, directory, unused }, allowed)
    }

    /// Has each guard look at what was counted, and does what follows. Returns a line for each scope or cgroup that is
    /// only observed from now on, with the reason.
    ///
    /// # Errors
    /// Fails if the kernel's counts cannot be read, or if the kernel refuses a changed policy.
    pub fn look(&mut self, agent: &mut Agent) -> Result<Vec<String>, Error> {
        let mut told = Vec::new();
        for number in 0..agent.policy().scopes.len() {
            let name = agent.policy().scopes[number].name.clone();
            let Some(guarded) = self.of.get_mut(&name) else { continue };
            told.extend(guarded.look(agent, number, &mut self.names)?);
        }
        if !told.is_empty() {
            told.extend(self.save().err());
        }
        Ok(told)
    }

    /// Switches again in one scope, or in all, where it is only observed because switching hurts. Everything is
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
            guarded.resume(agent, number, &mut self.names).map_err(|error| error.to_string())?;
        }
        self.save()
    }

    /// Keeps what is only observed, for the next agent.
    fn save(&self) -> Result<(), String> {
        let now = self.of.values().flat_map(Guarded::suspensions);
        let all: Vec<Suspension> = self.unused.iter().cloned().chain(now).collect();
        kept_suspensions::save(&self.directory, &all)
    }

    /// How many scopes are only observed, or cgroups in them, because switching hurts.
    pub fn suspended(&self) -> usize {
        let of = |it: &Guarded| usize::from(it.is_suspended) + it.groups.suspended().count();
        self.of.values().map(of).sum()
    }

    /// What the guards of a scope know; None for a scope without a guard.
    pub fn of(&self, scope: &str) -> Option<Guarding> {
        let Guarded { groups, since, .. } = self.of.get(scope)?;
        let verdict = groups.verdict();
        let estimate = verdict.estimate();
        let of_group = |(name, guard): (&str, &Guard)| {
            let verdict = guard.verdict();
            let estimate = verdict.estimate();
            GroupGuarding {
                cgroup: called(name),
                verdict: verdict.name().into(),
                says: verdict.to_string(),
                ratio: estimate.map(|it| [it.least, it.ratio, it.most]),
                bursts: estimate.map_or(0, |it| it.bursts),
                suspended_since: since.get(&Some(name.to_owned())).copied(),
            }
        };
        Some(Guarding {
            verdict: verdict.name().into(),
            says: verdict.to_string(),
            ratio: estimate.map(|it| [it.least, it.ratio, it.most]),
            bursts: estimate.map_or(0, |it| it.bursts),
            suspended: matches!(verdict, Verdict::Hurts(_)),
            suspended_since: since.get(&None).copied(),
            cgroups: groups.guards().map(of_group).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_name_does_nothing_to_a_terminal() {
        assert_eq!(called("a.slice/\u{1b}[2J\n"), "cgroup a.slice/\u{fffd}[2J\u{fffd}");
        assert_eq!(called(r"system-a\x2db.slice"), r"cgroup system-a\x2db.slice");
    }

    fn policy(name: &str, holdback: f64) -> Policy {
        let table = kirikae_table::shipped().kernel_table().into();
        Policy::one(Scope { name: name.into(), holdback, ..Scope::new(table) })
    }

    fn suspension(policy: &Policy, cgroup: Option<&str>) -> Suspension {
        Suspension {
            scope: policy.scopes[0].name.clone(),
            settings: settings_of(&policy.scopes[0]),
            cgroup: cgroup.map(str::to_owned),
            ratio: [1.2, 1.5, 1.9],
            bursts: 500,
            since: 1_800_000_000,
        }
    }

    fn with(kept: &[Suspension]) -> (tempfile::TempDir, Guards) {
        let directory = tempfile::tempdir().unwrap();
        kept_suspensions::save(directory.path(), kept).unwrap();
        let (guards, told) = Guards::load(directory.path().into(), directory.path());
        assert_eq!(told, None);
        (directory, guards)
    }

    #[test]
    fn a_scope_keeps_what_is_suspended_over_a_reload_and_a_restart() {
        let web = policy("web", 0.02);
        for cgroup in [None, Some("tenant")] {
            let (_directory, loaded) = with(&[suspension(&web, cgroup)]);
            let (guards, allowed) = loaded.under(&web);
            assert_eq!(guards.suspended(), 1);
            assert_eq!(allowed.scopes[0].observed, cgroup.is_none());
            let is_suspended = |policy: &Policy| guards.under(policy).0.suspended() == 1;
            assert!(is_suspended(&web));
            assert!(!is_suspended(&policy("web", 0.1)), "another share is another experiment");
            assert!(!is_suspended(&policy("desks", 0.02)));
            let mut unguarded = web.clone();
            unguarded.scopes[0].guard = false;
            assert_eq!(guards.under(&unguarded).0.of("web"), None);
            assert_eq!(guards.under(&web).1.scopes[0].holdback, 0.02);
        }
    }

    #[test]
    fn other_settings_are_another_experiment() {
        let web = policy("web", 0.02);
        let mut other = web.clone();
        other.scopes[0].idle_keep = false;
        let (_directory, loaded) = with(&[suspension(&other, None), suspension(&web, Some("a"))]);
        let guarding = loaded.under(&web).0.of("web").unwrap();
        assert_eq!(guarding.suspended_since, None);
        assert_eq!(guarding.cgroups[0].suspended_since, Some(1_800_000_000));
        assert_eq!(guarding.cgroups[0].ratio, Some([1.2, 1.5, 1.9]));
    }

    #[test]
    fn what_was_kept_of_other_scopes_stays() {
        let (web, desks) = (policy("web", 0.02), policy("desks", 0.02));
        let (directory, loaded) = with(&[suspension(&web, None), suspension(&desks, Some("a"))]);
        let (guards, _) = loaded.under(&web);
        guards.save().unwrap();
        let kept = kept_suspensions::load(directory.path()).unwrap();
        assert_eq!(kept.len(), 2);
        assert_eq!(guards.under(&desks).0.suspended(), 1);
    }

    #[test]
    fn what_holds_nothing_back_cannot_be_judged() {
        let (_directory, loaded) = with(&[]);
        let guarding = loaded.under(&policy("web", 0.0)).0.of("web").unwrap();
        assert_eq!((guarding.verdict.as_str(), guarding.ratio), ("cannot-judge", None));
        assert!(guarding.says.contains("holds nothing back"), "{}", guarding.says);
    }
}
