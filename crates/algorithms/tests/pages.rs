//! `docs/algorithms/` says what the code does today.

use std::collections::BTreeMap;
use std::fs;

#[path = "../examples/pages/generate/mod.rs"]
mod generate;

#[test]
fn pages_are_up_to_date() {
    let committed: BTreeMap<String, String> = fs::read_dir(generate::directory())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect();
    let generated = generate::files();
    for name in committed.keys().chain(generated.keys()) {
        assert!(generated.contains_key(name), "docs/algorithms/{name} belongs to no algorithm");
        assert!(
            committed.get(name) == generated.get(name),
            "docs/algorithms/{name} is out of date; write it with: {}",
            generate::COMMAND
        );
    }
}
