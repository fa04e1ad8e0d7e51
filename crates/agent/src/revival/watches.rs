//! The namespaces that are watched.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::watch::Watch;
use crate::namespaces::others_of;

/// A namespace that nothing leads to is looked for again after this time: that takes a look at every thread of the
/// host.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The namespaces that are watched: the agent's own, and others as long as there are open connections in them. To be
/// watched keeps a namespace, so that it would otherwise outlive its last name and its last program.
pub(super) struct Watches {
    own: u32,
    by_namespace: BTreeMap<u32, Watch>,
    /// Those that nothing has led to, or that could not be entered, and when they were looked for.
    not_found: HashSet<u32>,
    looked_for: Instant,
}

impl Watches {
    /// Watches the namespace of the calling thread. Each takes four files, and a host may have hundreds, so that this
    /// process opens as many from now on as it may.
    pub fn begin() -> io::Result<Watches> {
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
        let watch = Watch::begin()?;
        let own = watch.changes.namespace();
        let by_namespace = BTreeMap::from([(own, watch)]);
        let (not_found, looked_for) = (HashSet::new(), Instant::now());
        Ok(Watches { own, by_namespace, not_found, looked_for })
    }

    /// Watches these, each with its inode, and no others. Where one cannot be watched, the others are; returns the
    /// first error.
    pub fn follow(&mut self, wanted: &BTreeMap<u32, u32>) -> io::Result<()> {
        self.by_namespace
            .retain(|namespace, _| *namespace == self.own || wanted.contains_key(namespace));
        self.not_found.retain(|namespace| wanted.contains_key(namespace));
        let is_time = self.looked_for.elapsed() >= LOOK_AGAIN;
        let watched = |it: &u32| self.by_namespace.contains_key(it);
        let missing = wanted.iter().filter(|(it, _)| !watched(it));
        let missing: BTreeMap<u32, u32> = missing.map(|(it, inode)| (*it, *inode)).collect();
        if !missing.keys().any(|it| is_time || !self.not_found.contains(it)) {
            return Ok(());
        }
        let mut followed = Ok(());
        for namespace in others_of(&missing.values().copied().collect()) {
            match Watch::begin_in(&namespace.file) {
                Ok(watch) => {
                    self.by_namespace.insert(watch.changes.namespace(), watch);
                }
                Err(error) => followed = followed.and(Err(error)),
            }
        }
        self.looked_for = Instant::now();
        let watched = |it: &u32| self.by_namespace.contains_key(it);
        self.not_found = missing.into_keys().filter(|it| !watched(it)).collect();
        followed
    }

    pub fn get_mut(&mut self, namespace: u32) -> Option<&mut Watch> {
        self.by_namespace.get_mut(&namespace)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Watch> {
        self.by_namespace.values_mut()
    }
}
