//! What is fuzzed. Each target is a function that panics where bytes break something: `fuzz/` looks for
//! such bytes, and a test here plays those that are kept in `fuzz/corpus/`.
//!
//! To add one, write its module and its line of [`TARGETS`]; the test says what is missing in `fuzz/`.

mod algorithms;
mod capture;
mod events;
mod http_query;
mod kept_paths;
mod latency_table;
mod netlink;
mod policy_file;
mod quiet;
mod switcher;

/// Something that is fuzzed.
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Panics where these bytes break something.
    pub play: fn(&[u8]),
}

/// All that there are, by name.
pub const TARGETS: [Target; 10] = [
    Target { name: "algorithms", play: algorithms::play },
    Target { name: "capture", play: capture::play },
    Target { name: "events", play: events::play },
    Target { name: "http_query", play: http_query::play },
    Target { name: "kept_paths", play: kept_paths::play },
    Target { name: "latency_table", play: latency_table::play },
    Target { name: "netlink", play: netlink::play },
    Target { name: "policy_file", play: policy_file::play },
    Target { name: "quiet", play: quiet::play },
    Target { name: "switcher", play: switcher::play },
];

/// Plays these bytes against the target of this name.
///
/// # Panics
/// Panics if they break something, and where there is no such target.
pub fn play(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("no target is called {name}")).play)(bytes);
}
