//! `--friendliness`: which candidates are left, and what is refused. Needs no privileges.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use kirikae_algorithms::Algorithm;
use kirikae_table::friendliness::{Measure, measured};
use kirikae_table::{Friendliness, LatencyTable, shipped};
use serde_json::Value;

use common::kirikae;

/// The candidates that are left, by name in alphabetical order.
fn left(arguments: &[&str]) -> Vec<String> {
    let output = explain(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let explanation: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |candidate: &Value| candidate["name"].as_str().unwrap().to_owned();
    let mut names: Vec<String> =
        explanation["candidates"].as_array().unwrap().iter().map(name).collect();
    names.sort();
    names
}

fn explain(arguments: &[&str]) -> Output {
    kirikae().args(["explain", "100ms", "--json"]).args(arguments).output().unwrap()
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A table of one place.
fn write_table(file: &Path, algorithms: &[&str]) {
    let columns: String =
        algorithms.iter().map(|a| format!(",{a},{a}.isolated,{a}.bursts")).collect();
    let values = ",0.1,0,0".repeat(algorithms.len());
    let text = format!(
        "# kirikae latency table, version 1\nrtt_ms,rate_mbit,burst_bytes,loss,burst_loss,queue\
         {columns}\n100,10,65536,0.00001,0,100{values}\n# end\n"
    );
    LatencyTable::parse(&text).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn a_policy_leaves_the_candidates_that_it_allows() {
    for policy in [Friendliness::Friendly, Friendliness::Fast] {
        let names = shipped().algorithms.iter().filter(|name| policy.allows(name));
        let mut expected: Vec<String> = names.cloned().collect();
        expected.sort();
        assert_eq!(left(&["--friendliness", policy.name()]), expected);
    }
    assert_eq!(left(&[]), left(&["--friendliness", Friendliness::default().name()]));
}

/// However large: what is restricted is a file, and a burst of which nothing else is known is an answer.
#[test]
fn balanced_does_not_restrict_bursts() {
    let first = |policy: &str, burst: &str| {
        let choice = ["1%", "--queue", "1000", "--friendliness", policy, "--burst", burst];
        let output = explain(&choice);
        let explanation: Value = serde_json::from_slice(&output.stdout).unwrap();
        explanation["candidates"][0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(left(&["--friendliness", "balanced"]), left(&["--friendliness", "fast"]));
    for burst in ["65536", "2097152"] {
        assert_eq!(first("balanced", burst), first("fast", burst));
    }
}

/// A stream is not bulk, however much it writes in all.
#[test]
fn balanced_does_not_restrict_streams() {
    let first = |policy: &str| {
        let output = explain(&["1%", "--queue", "1000", "--friendliness", policy, "--stream", "7"]);
        let explanation: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(explanation["asked"]["stream_mbit"], 7.0);
        explanation["candidates"][0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(first("balanced"), first("fast"));
    assert!(!Friendliness::Balanced.allows_in_bulk(&first("balanced")));
}

#[test]
fn a_stream_has_to_be_carried_and_known() {
    let too_fast = refused(&explain(&["--stream", "10"]));
    assert!(too_fast.ends_with("--stream: 10 Mbit/s; allowed: less than --rate\n"), "{too_fast}");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("table.csv");
    write_table(&file, &["kk_hybla"]);
    let unknown = refused(&explain(&["--stream", "1", "--table", file.to_str().unwrap()]));
    let expected = "the table has no streams; allowed: --burst (docs/tables.md)\n";
    assert!(unknown.ends_with(expected), "{unknown}");
}

#[test]
fn a_table_given_keeps_its_candidates_unless_a_policy_is_given() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("table.csv");
    let table = file.to_str().unwrap();
    write_table(&file, &["kk_scalable", "kk_reno"]);
    assert_eq!(left(&["--table", table]), ["kk_reno", "kk_scalable"]);
    assert_eq!(left(&["--table", table, "--friendliness", "fast"]), ["kk_reno", "kk_scalable"]);
    assert_eq!(left(&["--table", table, "--friendliness", "friendly"]), ["kk_reno"]);
}

/// It is used all the same.
#[test]
fn a_table_measured_with_other_sources_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("table.csv");
    let told = |inputs: &str| {
        write_table(&file, &["kk_scalable", "kk_reno"]);
        let table = fs::read_to_string(&file).unwrap();
        fs::write(&file, table.replacen('\n', &format!("\n# {inputs}\n"), 1)).unwrap();
        let output = explain(&["--table", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    let now = kirikae_provenance::table_line();
    assert_eq!(told(&now), "");
    let (_, simulator) = now.split_once("simulator ").unwrap();
    let simulator = simulator.split(',').next().unwrap();
    let warning = told(&now.replace(simulator, "0123456789ab"));
    let wanted = format!(
        "kirikae: warning: {}: it was measured with other sources: simulator 0123456789ab, now \
         {simulator} (docs/tables.md)\n",
        file.display()
    );
    assert_eq!(warning, wanted);
    assert!(told("Of nobody knows what.").contains("does not say what it was measured with"));
}

#[test]
fn a_policy_that_leaves_nothing_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("table.csv");
    write_table(&file, &["kk_scalable"]);
    let choice = ["--friendliness", "friendly", "--table", file.to_str().unwrap()];
    for command in [["explain", "100ms"].as_slice(), &["run"]] {
        let message = refused(&kirikae().args(command).args(choice).output().unwrap());
        let begin = format!(
            "kirikae: {}: friendliness friendly: found only kk_scalable; allowed: ",
            file.display()
        );
        assert!(message.starts_with(&begin) && message.lines().count() == 1, "{message}");
        assert!(message.contains("kk_reno"), "{message}");
    }
}

#[test]
fn a_policy_that_there_is_not_is_refused() {
    let message = refused(&explain(&["--friendliness", "fair"]));
    assert!(message.contains("'fair'"), "{message}");
    assert!(message.contains("friendly, balanced, fast"), "{message}");
}

/// The algorithms that may be chosen: with `kk_resume` connections only begin (docs/warm-start.md).
fn choosable() -> impl Iterator<Item = Algorithm> {
    Algorithm::all().filter(|algorithm| algorithm.name() != "kk_resume")
}

/// No friendliness except `fast` allows an algorithm that was not measured.
#[test]
fn every_algorithm_was_measured() {
    for algorithm in choosable() {
        let mut measures: Vec<Measure> = measured()
            .iter()
            .filter(|figure| figure.algorithm == algorithm.name())
            .map(|figure| figure.measure)
            .collect();
        measures.dedup();
        assert_eq!(measures.len(), 8, "{algorithm:?}");
    }
}

#[test]
fn the_page_says_what_each_policy_allows() {
    let page = include_str!("../../../docs/friendliness.md");
    for policy in Friendliness::ALL {
        let names: Vec<&str> =
            choosable().map(|it| it.name()).filter(|name| policy.allows(name)).collect();
        let line = format!("| `{policy}` | {} |", names.join(", "));
        assert!(page.contains(&line), "docs/friendliness.md: not found: {line}");
    }
}
