//! What hosts remember of the paths to each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use kirikae_algorithms::PathMemory;
use kirikae_tcp::Control;

use crate::simulation::Host;

/// Sets of a host's path memory, enough for the few others that a simulated host talks to.
const SETS: u32 = 8;
/// What the first 32 bits of an IPv4 network are in a path's key.
const IPV4: u64 = 0xffff << 32;

/// The path memories of the hosts, by their addresses.
#[derive(Default)]
pub(crate) struct PathMemories(BTreeMap<u32, PathMemory>);

impl PathMemories {
    /// The congestion control of a connection of `host` with `peer`: where it is switched, with what the host
    /// remembers.
    pub fn control(&mut self, host: &Host, peer: &Host) -> Arc<Control> {
        let Some(rule) = &host.control.switcher else { return Arc::clone(&host.control) };
        let memory = self.0.entry(host.address).or_insert_with(|| PathMemory::new(SETS));
        let mut rule = rule.clone();
        rule.set_path(memory.clone(), IPV4 | u64::from(peer.address));
        Arc::new(Control { switcher: Some(rule), ..*host.control })
    }
}
