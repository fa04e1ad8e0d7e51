//! Whatever a policy file may hold: it is read, or refused with what is allowed.

use std::path::Path;

use kirikae_daemon::{Host, PolicyFile};
use kirikae_settings::section::Source;

pub(crate) fn play(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let source = Source::new("kirikae.toml", text);
    let host = Host {
        cgroup_root: Path::new("/sys/fs/cgroup"),
        can_destroy: true,
        has_group: |name| name == "adm",
        is_namespace: |file| file == Path::new("/run/netns/web"),
    };
    match PolicyFile::parse(&source, host) {
        Ok(read) => assert!((1..=16).contains(&read.policy.scopes.len())),
        Err(refusal) => assert!(!refusal.allowed.is_empty()),
    }
}
