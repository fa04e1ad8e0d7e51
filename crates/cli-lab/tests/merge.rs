//! Tables in shards: the bytes of one run, and what is not put together.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use common::lab;

const GRID: &str = r#"
# A comment is no part of the sweep.
seed = 3
algorithms = ["kk_cubic", "kk_hybla", "kk_bbr3"]
candidates = ["kk_bbr3", "kk_cubic"]
rtt = ["20 ms", "200 ms"]
rate = ["10 Mbit/s"]
burst = ["4 KiB", "64 KiB"]
stream = [0.5]
loss = [0, 1e-2]
queue = ["100 packets"]
[confidence]
interval = 0.1
repetitions = [2, 4]
writes = [4, 20]
volume = "256 KiB"
"#;
/// 2 round-trip times, 3 loads, 2 conditions.
const PLACES: usize = 12;
const WHOLE: &str = "a whole file that --shard wrote";

/// A directory of its own with the grid in it, which is removed.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Directory {
        let directory = Directory(tempfile::tempdir().unwrap());
        directory.write("grid.toml", GRID);
        directory
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn files(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// What it prints, to either output, as it ends with this status.
    #[track_caller]
    fn lab(&self, status: i32, arguments: &[&str]) -> String {
        let output = lab().current_dir(self.path()).args(arguments).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(status), "{text}");
        text
    }

    #[track_caller]
    fn shard(&self, shard: &str, output: &str) -> String {
        self.lab(0, &["characterize", "grid.toml", "--shard", shard, "--output", output])
    }

    /// The one error with which these are not put together, and nothing is written.
    #[track_caller]
    fn refused(&self, shards: &[&str]) -> String {
        let before = self.files();
        let arguments =
            [&["merge", "--output", "merged.csv", "--records", "records"], shards].concat();
        let message = self.lab(2, &arguments);
        assert_eq!((message.lines().count(), self.files()), (1, before), "{message}");
        let message = message.trim().strip_prefix("kirikae-lab: ").expect("it says who says so");
        message.to_owned()
    }
}

#[test]
fn shards_together_have_the_bytes_of_one_run() {
    let one = Directory::new();
    let table = ["--output", "table.csv", "--records", "records"];
    one.lab(0, &[&["characterize", "grid.toml"][..], &table].concat());
    let records = fs::read(one.path().join("records/table.parquet")).unwrap();
    for of in [1, 3, 4] {
        let parts = Directory::new();
        // The last first: their order does not matter.
        let names: Vec<String> = (1..=of).rev().map(|index| format!("{index}.shard")).collect();
        for (name, index) in names.iter().zip((1..=of).rev()) {
            let text = parts.shard(&format!("{index}/{of}"), name);
            let places = PLACES / of;
            let told = format!("{name}: shard {index}/{of}: {places} of {PLACES} places, in ");
            assert!(text.starts_with(&told), "{text}");
        }
        // Which grid it is the shards say.
        fs::remove_file(parts.path().join("grid.toml")).unwrap();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let report = parts.lab(0, &[&["merge", "--json"], &names[..], &table].concat());
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!((&report["places"], &report["resumed"]), (&PLACES.into(), &0.into()));
        assert!(parts.read("table.csv") == one.read("table.csv"), "{of} shards");
        let merged = fs::read(parts.path().join("records/table.parquet")).unwrap();
        assert!(merged == records, "{of} shards");
        let left: BTreeSet<String> =
            names.iter().chain(&["records", "table.csv"]).map(|it| (*it).to_owned()).collect();
        assert_eq!(parts.files(), left);
    }
}

#[test]
fn more_shards_than_places_are_merged_too() {
    let one = Directory::new();
    let grid = GRID.replace(r#""4 KiB", "64 KiB""#, r#""4 KiB""#);
    let grid = grid.replace("stream = [0.5]", "").replace(r#""20 ms", "200 ms""#, r#""20 ms""#);
    one.write("grid.toml", &grid);
    one.lab(0, &["characterize", "grid.toml", "--output", "table.csv"]);
    assert!(one.shard("3/3", "3").contains("shard 3/3: 0 of 2 places"));
    one.shard("1/3", "1");
    one.shard("2/3", "2");
    let text = one.lab(0, &["merge", "1", "2", "3", "--output", "merged.csv"]);
    assert!(text.starts_with("merged.csv: 2 places, 3 algorithms: "), "{text}");
    assert_eq!(one.read("merged.csv"), one.read("table.csv"));
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let directory = Directory::new();
    for index in 1..=3 {
        directory.shard(&format!("{index}/3"), &index.to_string());
    }
    let (first, second) = (directory.read("1"), directory.read("2"));

    assert_eq!(
        directory.refused(&["1", "3"]),
        "1: it is one of 3 shards, of which 1 are not there: 2; allowed: all shards of a sweep"
    );
    directory.write("again", &first);
    assert_eq!(
        directory.refused(&["1", "2", "3", "again"]),
        "again: it is shard 1/3, as is 1; allowed: each shard once"
    );

    directory.write("grid.toml", &GRID.replace("seed = 3", "seed = 4"));
    directory.shard("2/3", "seed");
    assert_eq!(
        directory.refused(&["1", "seed", "3"]),
        "seed: it is of another sweep than 1: another grid: `seed = 4` instead of `seed = 3`; allowed: the \
         shards of one sweep"
    );
    directory.write("grid.toml", GRID);
    directory.shard("2/4", "of-4");
    assert_eq!(
        directory.refused(&["1", "of-4", "3"]),
        "of-4: it is of another sweep than 1: 12 places in 4 shards instead of 12 places in 3 shards; \
         allowed: the shards of one sweep"
    );

    let header: Value = serde_json::from_str(second.lines().next().unwrap()).unwrap();
    let sources = header["sources"].as_str().unwrap();
    let simulator = sources.split(", ").find(|it| it.starts_with("simulator ")).unwrap();
    directory.write("code", &resealed(&second.replacen(simulator, "simulator 00", 1)));
    let now = simulator.replace("simulator ", "now ");
    assert_eq!(
        directory.refused(&["1", "code", "3"]),
        format!(
            "code: other code computed it: simulator 00, {now}; allowed: shards that were computed by the \
             code of this program"
        )
    );
    let version = format!("\"kirikae\":\"{}\"", env!("CARGO_PKG_VERSION"));
    directory.write("version", &resealed(&second.replacen(&version, "\"kirikae\":\"0.0.1\"", 1)));
    let refused = directory.refused(&["1", "version", "3"]);
    assert!(
        refused.starts_with("version: other code computed it: kirikae 0.0.1 and not "),
        "{refused}"
    );
}

/// The text of a shard with a last line that is right.
fn resealed(text: &str) -> String {
    let end = text.trim_end().rfind('\n').unwrap() + 1;
    let digest = kirikae_provenance::digest_of(&text[..end]);
    format!("{}{{\"end\":\"{digest}\"}}\n", &text[..end])
}

#[test]
fn a_file_that_is_not_whole_is_refused() {
    let directory = Directory::new();
    directory.shard("1/2", "1");
    directory.shard("2/2", "2");
    let whole = directory.read("2");
    let without_end = &whole[..whole.trim_end().rfind('\n').unwrap() + 1];
    for (name, text) in [
        ("in-a-line", &whole[..whole.len() / 2]),
        ("before-the-end", without_end),
        ("in-the-end", &whole[..whole.len() - 1]),
        ("after-the-header", &whole[..=whole.find('\n').unwrap()]),
    ] {
        directory.write(name, text);
        let message = format!("{name}: shard 2/2 is cut off; allowed: {WHOLE}");
        assert_eq!(directory.refused(&["1", name]), message);
    }
    // Places are missing, though the last line is right.
    let lines: Vec<&str> = whole.lines().collect();
    directory.write("fewer", &resealed(&([&lines[..2], &lines[3..]].concat().join("\n") + "\n")));
    assert_eq!(
        directory.refused(&["1", "fewer"]),
        format!("fewer: shard 2/2 is cut off; allowed: {WHOLE}")
    );
    directory.write("changed", &whole.replacen("\"writes\":", "\"writes\":1", 1));
    assert_eq!(
        directory.refused(&["1", "changed"]),
        format!("changed: shard 2/2 was changed since it was written; allowed: {WHOLE}")
    );
    for none in ["", "seed = 1\n", "{}\n"] {
        directory.write("none", none);
        let message = format!("none: it is no file of a shard; allowed: {WHOLE}");
        assert_eq!(directory.refused(&["1", "none"]), message, "{none:?}");
    }
    let refused = directory.refused(&["1", "nowhere"]);
    assert!(refused.starts_with("nowhere: cannot be read (No such file"), "{refused}");
    assert!(refused.ends_with(WHOLE), "{refused}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = Directory::new();
    for shard in ["0/4", "5/4", "1", "1/0"] {
        let refused =
            directory.lab(2, &["characterize", "grid.toml", "--output", "1", "--shard", shard]);
        assert!(refused.contains("allowed: i/n, n from 1 to "), "{shard}: {refused}");
    }
    let records = ["--shard", "1/2", "--records", "records"];
    let refused =
        directory.lab(2, &[&["characterize", "grid.toml", "--output", "1"], &records[..]].concat());
    assert!(refused.contains("cannot be used with"), "{refused}");
    directory.lab(2, &["merge", "--output", "table.csv"]);
    assert_eq!(directory.files(), BTreeSet::from(["grid.toml".to_owned()]));
}

#[test]
fn a_shard_that_was_interrupted_goes_on() {
    let directory = Directory::new();
    let precise = GRID.replace("interval = 0.1", "interval = 0.001");
    let precise = precise.replace("[2, 4]", "[30, 30]").replace("[4, 20]", "[400, 400]");
    directory.write("grid.toml", &precise);
    let journal = directory.path().join("1.partial");
    let arguments = ["characterize", "grid.toml", "--shard", "1/2", "--output", "1"];
    let mut command = lab();
    command.current_dir(directory.path()).env("RAYON_NUM_THREADS", "1").args(arguments);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while fs::read_to_string(&journal).unwrap_or_default().lines().count() < 2 {
        assert!(Instant::now() < deadline, "no place in {}", journal.display());
        sleep(Duration::from_millis(1));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    let kept = fs::read_to_string(&journal).unwrap();
    let places = kept.lines().count() - 1;
    assert!((1..PLACES / 2).contains(&places));
    let told = format!("{places} of {} places are done and kept in 1.partial", PLACES / 2);
    assert!(message.contains(&told), "{message}");
    assert!(!directory.path().join("1").exists());

    // Neither is it a shard that is whole, nor of use to another one.
    directory.shard("2/2", "2");
    let refused = directory.refused(&["1.partial", "2"]);
    assert_eq!(refused, format!("1.partial: shard 1/2 is cut off; allowed: {WHOLE}"));
    directory.write("2.partial", &kept);
    let refused =
        directory.lab(2, &["characterize", "grid.toml", "--shard", "2/2", "--output", "2"]);
    assert_eq!(
        refused.trim(),
        "kirikae-lab: 2.partial: found shard 1/2; allowed: what this program wrote of shard 2/2 of this \
         sweep; remove it to begin anew"
    );

    let text = directory.shard("1/2", "1");
    assert!(text.contains(&format!("({places} places were done already)")), "{text}");
    assert!(!journal.exists());
    directory.shard("1/2", "at-once");
    assert!(directory.read("1") == directory.read("at-once"), "the shard differs");
    directory.lab(0, &["merge", "1", "2", "--output", "table.csv"]);
}
