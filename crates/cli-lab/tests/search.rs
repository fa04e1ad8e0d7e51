//! The search from the command line: exit statuses, refusals, what it writes, and being ended early.

mod common;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use common::{lab, wait_for_handler};

/// It searches in `directory`, on so many threads.
fn search(directory: &Path, threads: &str, arguments: &[&str]) -> Output {
    let mut command = lab();
    command.current_dir(directory).env("RAYON_NUM_THREADS", threads).arg("search").args(arguments);
    command.output().unwrap()
}

#[track_caller]
fn text(output: &Output, status: i32) -> String {
    let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{text}");
    text
}

#[test]
fn one_path_is_written_and_played() {
    let directory = tempfile::tempdir().unwrap();
    let path = text(&search(directory.path(), "1", &["--seed", "3", "--only", "5"]), 0);
    fs::write(directory.path().join("path.toml"), &path).unwrap();
    let mut sim = lab();
    sim.current_dir(directory.path()).args(["sim", "path.toml"]);
    let played = text(&sim.output().unwrap(), 0);
    assert!(played.contains("cubic") && played.contains("kirikae"), "{played}");
}

#[test]
fn the_status_tells_whether_something_was_found() {
    let directory = tempfile::tempdir().unwrap();
    // Nobody is a hundred times as slow.
    let nothing = ["--count", "20", "--climbs", "0", "--loss", "100"];
    assert!(text(&search(directory.path(), "2", &nothing), 0).contains("No path was found"));
    // The best of several, known afterwards, is better than any choice somewhere.
    let best = "kk_hybla,bbr";
    let arguments =
        ["--count", "6", "--climbs", "0", "--than", best, "--json", "--output", "found"];
    let found = search(directory.path(), "2", &arguments);
    let report: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found.status.code(), Some(1));
    let finds = report["finds"].as_array().unwrap();
    assert!(!finds.is_empty());
    for find in finds {
        let file = directory.path().join(find["file"].as_str().unwrap());
        assert!(fs::read_to_string(file).unwrap().starts_with("# kirikae takes "));
    }
    let again = text(&search(directory.path(), "2", &arguments), 2);
    assert!(again.contains("is not empty") && again.contains("allowed: "), "{again}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (["--loss", "1"], "a number above 1"),
        (["--than", "kirikae"], "any others"),
        (["--than", "cubix"], "cubic"),
        (["--count", "0"], "1..="),
        (["--friendliness", "bold"], "balanced"),
    ] {
        let refused = text(&search(directory.path(), "1", &arguments), 2);
        assert!(refused.contains(told), "{arguments:?}: {refused}");
    }
}

/// A search in which something is found, with a climb.
const ASKED: [&str; 8] =
    ["--seed", "10", "--count", "6", "--climbs", "1", "--than", "kk_hybla,bbr"];

/// Without how long it took, and where the finds are.
fn told(output: &Output) -> Value {
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["wall_s"] = Value::Null;
    for find in report["finds"].as_array_mut().unwrap() {
        let file = find["file"].as_str().unwrap();
        find["file"] = file.rsplit('/').next().unwrap().into();
    }
    report
}

/// The shard's file is called by its index.
#[track_caller]
fn shard(directory: &Path, shard: &str, others: &[&str]) -> String {
    let name = shard.split_once('/').unwrap().0;
    let output = ["--shard", shard, "--output", name];
    text(&search(directory, "1", &[&ASKED[..], &output, others].concat()), 0)
}

fn merge(directory: &Path, arguments: &[&str]) -> Output {
    lab().current_dir(directory).arg("merge").args(arguments).output().unwrap()
}

#[test]
fn shards_together_find_what_one_search_finds() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let one = search(directory, "2", &[&ASKED[..], &["--json", "--output", "one"]].concat());
    assert!(shard(directory, "3/3", &[]).starts_with("3: shard 3/3: 2 of 6 paths, in "));
    shard(directory, "1/3", &[]);
    shard(directory, "2/3", &[]);
    let merged = merge(directory, &["3", "1", "2", "--json", "--output", "merged"]);
    assert_eq!((merged.status.code(), told(&merged)), (Some(1), told(&one)));
    let files = |name: &str| -> Vec<(OsString, String)> {
        let entries = fs::read_dir(directory.join(name)).unwrap().map(Result::unwrap);
        let mut files: Vec<_> = entries
            .map(|entry| (entry.file_name(), fs::read_to_string(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    };
    assert!(!files("one").is_empty() && files("one") == files("merged"));
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    shard(directory, "1/2", &[]);
    shard(directory, "2/2", &[]);
    let refused = |arguments: &[&str]| {
        let arguments = [&["--output", "merged"], arguments].concat();
        let message = text(&merge(directory, &arguments), 2);
        assert!(!directory.join("merged").exists(), "{message}");
        message
    };
    assert_eq!(
        refused(&["1", "2", "--friendliness", "fast"]),
        "kirikae-lab: 1: it was searched by another latency table; allowed: the --table and --friendliness \
         that the shards had\n"
    );
    assert!(refused(&["1"]).contains("of which 1 are not there: 2; allowed: all shards"));
    assert!(refused(&["1", "2", "--records", "records"]).contains("the shards are of a search"));

    fs::rename(directory.join("2"), directory.join("second")).unwrap();
    shard(directory, "2/2", &["--loss", "1.2"]);
    assert_eq!(
        refused(&["1", "2"]),
        "kirikae-lab: 2: it is of another sweep than 1: another search: loss 1.2 instead of 1.1; allowed: the \
         shards of one sweep\n"
    );
    // That of a latency table: its last line is right.
    let searched = fs::read_to_string(directory.join("second")).unwrap();
    let mut header: Value = serde_json::from_str(searched.lines().next().unwrap()).unwrap();
    header["sweep"] = serde_json::json!({ "grid": [] });
    let header = format!("{header}\n");
    let end = kirikae_provenance::digest_of(&header);
    fs::write(directory.join("table"), format!("{header}{{\"end\":\"{end}\"}}\n")).unwrap();
    let of_else = "it is of something else than the others; allowed: the shards of one sweep\n";
    assert_eq!(refused(&["1", "table"]), format!("kirikae-lab: table: {of_else}"));
    assert!(
        refused(&["table", "--friendliness", "fast"]).contains("allowed: for those of a search")
    );

    let nowhere = text(&search(directory, "1", &["--shard", "1/2"]), 2);
    assert!(nowhere.contains("--output"), "{nowhere}");
}

#[test]
fn a_shard_that_was_interrupted_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let arguments = ["--count", "100000", "--shard", "1/1", "--output", "1"];
    let mut command = lab();
    command.current_dir(directory).env("RAYON_NUM_THREADS", "1").arg("search").args(arguments);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = || {
        let journal = fs::read_to_string(directory.join("1.partial")).unwrap_or_default();
        journal.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while lines().len() < 3 {
        assert!(Instant::now() < deadline, "no path in its journal");
        sleep(Duration::from_millis(1));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = text(&output, 1);
    let paths = lines().len() - 1;
    let told =
        format!("{paths} of 100000 paths are done and kept in 1.partial; the same command goes on");
    assert!(message.contains(&told), "{message}");

    // As if only three paths had been asked for: on one thread they are played in order.
    let journal = lines()[..3].join("\n").replace("100000", "3") + "\n";
    fs::write(directory.join("1.partial"), journal).unwrap();
    let shorter = || {
        let arguments = ["--count", "3", "--shard", "1/1", "--output", "1"];
        let told = text(&search(directory, "1", &arguments), 0);
        (told.contains("(2 paths were done already)"), fs::read(directory.join("1")).unwrap())
    };
    let (resumed, whole) = shorter();
    let (again, at_once) = shorter();
    assert!(resumed && !again && whole == at_once && lines().is_empty());
}

#[test]
fn ended_early_it_reports_what_it_has() {
    let mut command = lab();
    command.args(["search", "--count", "1000000", "--json"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    // How far it comes does not matter.
    wait_for_handler(child.id(), Signal::SIGINT);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["interrupted"], true);
    assert!(report["paths"].as_u64().unwrap() < 1_000_000);
}
