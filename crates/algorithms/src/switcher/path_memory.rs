//! The path memory, `bpf/switcher/core/path_memory.h`: what the connections of a host have shown of each path.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kirikae_interface::{path_entry, path_key, path_set};

use crate::c;

/// What is known of a path: the entry, how old it is, and whether another connection begins with it.
pub type PathKnown = c::path_known;

/// The network that a remote address is in, as a [`path_key`] has it; None: nothing is kept of the path there.
pub fn path_network(remote: IpAddr) -> Option<u64> {
    let remote = match remote {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    // SAFETY: plain data that the C code only reads during the call.
    let network = unsafe { c::kk_path_network(&remote.into()) };
    (network != 0).then_some(network)
}

/// The memory of a host, whose own network namespace is 0. A clone is the same memory, for another connection.
#[derive(Clone)]
pub struct PathMemory(Arc<Mutex<Box<[path_set]>>>);

impl PathMemory {
    /// One that knows nothing, with so many sets of [`PATH_WAYS`](kirikae_interface::PATH_WAYS) entries.
    ///
    /// # Panics
    /// Panics where there are no sets.
    pub fn new(sets: u32) -> PathMemory {
        assert!(sets > 0, "a memory of no sets");
        PathMemory(Arc::new(Mutex::new((0..sets).map(|_| path_set::default()).collect())))
    }

    /// The number of the set that a key belongs to.
    pub fn place(&self, key: &path_key) -> usize {
        place(&self.sets(), key)
    }

    /// All entries, by set.
    pub fn entries(&self) -> Vec<Vec<path_entry>> {
        let is_entry = |entry: &&path_entry| entry.key != path_key::default();
        self.sets().iter().map(|set| set.way.iter().filter(is_entry).copied().collect()).collect()
    }

    /// What is known, where it is no older than `lifetime_s` seconds.
    pub fn recall(&self, key: &path_key, now_s: u32, lifetime_s: u32) -> Option<PathKnown> {
        let mut known = PathKnown::default();
        let is_known = self.of(key, |set| {
            // SAFETY: plain data that the C code only uses during the call; so in each of these.
            unsafe { c::kk_path_recall(set, key, now_s, lifetime_s, &mut known) }
        });
        is_known.then_some(known)
    }

    /// A connection begins with the entry. Whether it may: there is one, and no other connection does.
    pub fn begin(&self, key: &path_key, now_s: u32) -> bool {
        self.of(key, |set| unsafe { c::kk_path_begin(set, key, now_s) })
    }

    /// The connection that began with the entry needs it no more.
    pub fn release(&self, key: &path_key) {
        self.of(key, |set| unsafe { c::kk_path_release(set, key) });
    }

    /// Removes the entry.
    pub fn forget(&self, key: &path_key) {
        self.of(key, |set| unsafe { c::kk_path_forget(set, key) });
    }

    /// A connection has shown something of the path of `news.key` at the time `news.written_s`.
    pub fn note(&self, news: &path_entry) {
        self.of(&news.key, |set| unsafe { c::kk_path_note(set, news) });
    }

    fn of<T>(&self, key: &path_key, call: impl FnOnce(&mut path_set) -> T) -> T {
        let mut sets = self.sets();
        let place = place(&sets, key);
        call(&mut sets[place])
    }

    /// The sets, of which nothing is ever left half written.
    pub(super) fn sets(&self) -> MutexGuard<'_, Box<[path_set]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place(sets: &[path_set], key: &path_key) -> usize {
    let spread = c::path_spread { sets: sets.len() as u32, ..Default::default() };
    // SAFETY: plain data that the C code only reads during the call.
    unsafe { c::kk_path_place(key, &spread) as usize }
}
