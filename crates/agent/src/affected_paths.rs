//! Paths that changes of the network concern.

use std::collections::BTreeMap;

use crate::paths::{KnownPath, PathFilter};

/// When more of a network namespace has changed, all of its paths are concerned; and all paths that there are when more
/// namespaces have.
const TOLD_APART: usize = 256;

/// Paths, by their network namespace: what happens in one concerns no path of another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AffectedPaths {
    by_namespace: BTreeMap<u32, Vec<PathFilter>>,
    is_every: bool,
}

impl AffectedPaths {
    /// All that there are.
    pub fn every() -> AffectedPaths {
        AffectedPaths { by_namespace: BTreeMap::new(), is_every: true }
    }

    /// Adds some. Without a namespace they are those of any.
    pub fn add(&mut self, paths: PathFilter) {
        if self.is_every {
            return;
        }
        let Some(namespace) = paths.namespace else {
            *self = AffectedPaths::every();
            return;
        };
        let all_of_it = PathFilter { namespace: Some(namespace), ..PathFilter::default() };
        let known = self.by_namespace.entry(namespace).or_default();
        if known.first() != Some(&all_of_it) {
            known.push(paths);
        }
        if known.len() > TOLD_APART {
            *known = vec![all_of_it];
        }
        if self.by_namespace.len() > TOLD_APART {
            *self = AffectedPaths::every();
        }
    }

    /// Adds all of others.
    pub fn extend(&mut self, others: AffectedPaths) {
        others.into_paths().for_each(|paths| self.add(paths));
    }

    /// Each part of them.
    pub(crate) fn into_paths(self) -> impl Iterator<Item = PathFilter> {
        let every = self.is_every.then(PathFilter::default);
        every.into_iter().chain(self.by_namespace.into_values().flatten())
    }

    /// The indices of the interfaces of which all paths are among them.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = u32> {
        let each = self.by_namespace.values().flatten();
        each.filter(|paths| paths.remote.is_none()).filter_map(|paths| paths.interface)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        !self.is_every && self.by_namespace.is_empty()
    }

    /// Whether a path is one of them.
    pub fn has(&self, path: &KnownPath) -> bool {
        let of_its = self.by_namespace.get(&path.namespace);
        self.is_every || of_its.is_some_and(|paths| paths.iter().any(|it| it.has(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(namespace: u32, interface: u32) -> PathFilter {
        PathFilter { namespace: Some(namespace), interface: Some(interface), remote: None }
    }

    #[test]
    fn what_a_namespace_changes_concerns_no_path_of_another() {
        let mut affected = AffectedPaths::default();
        affected.add(over(1, 2));
        (0..1_000).for_each(|interface| affected.add(over(7, interface)));
        let of_it = &affected.by_namespace[&7];
        assert_eq!(of_it[..], [PathFilter { namespace: Some(7), ..PathFilter::default() }]);
        assert_eq!(affected.by_namespace[&1], [over(1, 2)]);
    }

    #[test]
    fn very_many_namespaces_are_all() {
        let mut affected = AffectedPaths::default();
        let few = TOLD_APART as u32;
        (0..few).for_each(|namespace| affected.add(over(namespace, 1)));
        assert!(!affected.is_every && !affected.is_empty());
        let mut more = AffectedPaths::default();
        more.add(over(few, 1));
        more.extend(affected);
        assert_eq!(more, AffectedPaths::every());
        more.add(over(1, 1));
        assert!(!more.is_empty() && more.by_namespace.is_empty());
    }
}
