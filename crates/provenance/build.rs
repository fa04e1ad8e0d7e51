//! Hashes the sources that determine simulated results, so that a program knows what it was built of.

#[path = "src/groups.rs"]
mod groups;
#[path = "src/normalise.rs"]
mod normalise;
#[path = "src/sources.rs"]
mod sources;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use groups::GROUPS;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut list = String::from("&[\n");
    for group in GROUPS {
        for path in group.of {
            println!("cargo::rerun-if-changed={}", root.join(path).display());
        }
        let digest = sources::digest(&root, group.of, group.without)
            .unwrap_or_else(|problem| panic!("crates/provenance/src/groups.rs: {problem}"));
        writeln!(list, "({:?}, {digest:?}),", group.name).expect("writing to a string");
    }
    list.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("built.rs"), list).expect("OUT_DIR is writable");
}
