//! `kirikae algorithms`: what it lists, for people and for machines. Needs no privileges.

use std::process::{Command, Output};

use kirikae_algorithms::Algorithm;
use serde_json::Value;

fn kirikae(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_kirikae")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn every_algorithm_is_listed_with_its_parameters() {
    let listed: Value = serde_json::from_slice(&kirikae(&["algorithms", "--json"]).stdout).unwrap();
    let text = String::from_utf8(kirikae(&["algorithms"]).stdout).unwrap();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), Algorithm::all().count());
    for (entry, algorithm) in listed.iter().zip(Algorithm::all()) {
        assert_eq!(entry["name"], algorithm.name());
        assert_eq!(entry["source"], algorithm.source());
        assert_eq!(entry["good_at"], algorithm.good_at());
        assert!(text.contains(algorithm.name()), "{text}");
        for (parameter, entry) in
            algorithm.parameters().zip(entry["parameters"].as_array().unwrap())
        {
            assert_eq!(entry["preset"], parameter.preset);
            let range = format!("{} to {}", parameter.lowest, parameter.highest);
            let name = format!("{}.{}", algorithm.name(), parameter.name);
            let line = text.lines().find(|line| line.contains(&name)).unwrap();
            assert!(line.contains(&range), "{line}");
        }
    }
}

/// Every Linux has these two, under these names.
#[test]
fn what_the_kernel_has_itself_is_told() {
    let listed: Value = serde_json::from_slice(&kirikae(&["algorithms", "--json"]).stdout).unwrap();
    let entry = |name: &str| {
        listed.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap()["kernel"]
            .clone()
    };
    assert_eq!(entry("kk_reno"), "loaded");
    assert_eq!(entry("kk_bbr3"), Value::Null);
}
