//! What depends on what. The laboratory in virtual time needs neither root nor libbpf, and what runs on
//! servers needs nothing of the laboratory.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Packages without a clock, I/O or BPF, and the laboratory in virtual time that is made of them.
const VIRTUAL: [&str; 15] = [
    "kirikae-algorithms",
    "kirikae-fit",
    "kirikae-guard",
    "kirikae-path",
    "kirikae-policy",
    "kirikae-python",
    "kirikae-results",
    "kirikae-scenario",
    "kirikae-settings",
    "kirikae-sim",
    "kirikae-simlab",
    "kirikae-studies",
    "kirikae-table",
    "kirikae-tcp",
    "kirikae-vocabulary",
];
/// What only the real kernel needs.
const REAL: [&str; 8] = [
    "kirikae-agent",
    "kirikae-bench",
    "kirikae-daemon",
    "kirikae-emu",
    "kirikae-validate",
    "libbpf-cargo",
    "libbpf-rs",
    "libbpf-sys",
];
/// What is of the laboratory alone.
const LABORATORY: [&str; 18] = [
    "arrow-array",
    "kirikae-bench",
    "kirikae-emu",
    "kirikae-fit",
    "kirikae-python",
    "kirikae-results",
    "kirikae-scenario",
    "kirikae-sim",
    "kirikae-simlab",
    "kirikae-studies",
    "kirikae-tcp",
    "kirikae-validate",
    "nalgebra",
    "parquet",
    "pcap-file",
    "pcap-parser",
    "plotters",
    "pyo3",
];

/// What each package depends on directly, tests and benches apart, by name.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--manifest-path", manifest])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let names: BTreeMap<String, String> =
        list(&metadata["packages"]).iter().map(|it| (text(&it["id"]), text(&it["name"]))).collect();
    let is_of_tests = |dependency: &Value| {
        list(&dependency["dep_kinds"]).iter().all(|kind| kind["kind"] == "dev")
    };
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let needed = list(&node["deps"]).into_iter().filter(|it| !is_of_tests(it));
        let needed = needed.map(|it| names[&text(&it["pkg"])].clone());
        found.entry(names[&text(&node["id"])].clone()).or_default().extend(needed);
    }
    found
}

/// All that a package depends on, and itself.
fn reached(from: &str, dependencies: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from.to_owned()];
    while let Some(name) = next.pop() {
        let needed = dependencies.get(&name).unwrap_or_else(|| panic!("no package {name}"));
        if reached.insert(name) {
            next.extend(needed.iter().cloned());
        }
    }
    reached
}

fn assert_apart(from: &str, forbidden: &[&str]) {
    let dependencies = dependencies();
    let unknown: Vec<_> = forbidden.iter().filter(|it| !dependencies.contains_key(**it)).collect();
    assert!(
        unknown.is_empty(),
        "no such packages, so that nothing is checked of them: {unknown:?}"
    );
    let reached = reached(from, &dependencies);
    let wrong: Vec<_> = forbidden.iter().filter(|it| reached.contains(**it)).collect();
    assert!(wrong.is_empty(), "{from} depends on {wrong:?}");
}

#[test]
fn virtual_time_needs_no_kernel() {
    VIRTUAL.iter().for_each(|package| assert_apart(package, &REAL));
}

#[test]
fn servers_need_no_laboratory() {
    assert_apart("kirikae", &LABORATORY);
}

#[test]
fn the_laboratory_needs_no_service() {
    assert_apart("kirikae-lab", &["kirikae", "kirikae-daemon", "kirikae-doctor", "axum", "pyo3"]);
}
