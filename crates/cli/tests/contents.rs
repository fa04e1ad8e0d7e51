//! What is linked into the program that servers run.

use std::fs;

/// The laboratory's object has a constant of this name (`bpf/thesis/switcher.bpf.c`), servers' have one of the
/// other.
const PUBLISHED: &[u8] = b"published_table";
const SERVERS: &[u8] = b"path_sets_count";

#[test]
fn the_choice_as_published_is_not_among_what_servers_run() {
    let program = fs::read(env!("CARGO_BIN_EXE_kirikae")).unwrap();
    let has = |name: &[u8]| program.windows(name.len()).any(|bytes| bytes == name);
    assert!(has(SERVERS) && !has(PUBLISHED));
}
