//! Whatever a policy file may hold: it is read, or refused with what is allowed.
#![no_main]

use std::path::Path;

use kirikae_daemon::{Host, PolicyFile};
use kirikae_settings::section::Source;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let source = Source { file: "kirikae.toml".into(), text: text.into() };
    let host = Host { cgroup_root: Path::new("/sys/fs/cgroup") };
    match PolicyFile::parse(&source, host) {
        Ok(read) => assert!((1..=16).contains(&read.policy.scopes.len())),
        Err(refusal) => assert!(!refusal.allowed.is_empty()),
    }
});
