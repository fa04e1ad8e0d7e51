//! Tables from the command line: the same bytes for any number of threads, and after an interruption.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use kirikae_table::{LatencyTable, Load};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use common::lab;

const GRID: &str = r#"
# A comment is no part of the table.
seed = 3
algorithms = ["kk_cubic", "kk_hybla", "kk_bbr3"]
candidates = ["kk_bbr3", "kk_cubic"]
rtt = ["20 ms", "200 ms"]
rate = ["1 Mbit/s", "10 Mbit/s"]
burst = ["4 KiB", "64 KiB"]
loss = [0, 1e-2]
queue = ["10 packets", "100 packets"]
burst-loss = [1e-2]
[confidence]
interval = 0.02
repetitions = [3, 12]
writes = [4, 200]
volume = "2 MiB"
"#;
/// 2 round-trip times, rates and bursts, 5 conditions.
const PLACES: usize = 40;

/// A directory of its own with the grid in it, which is removed.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Directory {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("grid.toml"), GRID).unwrap();
        Directory(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn start(&self, threads: &str, arguments: &[&str]) -> Child {
        let mut command = lab();
        command
            .current_dir(self.path())
            .env("RAYON_NUM_THREADS", threads)
            .args(["characterize", "grid.toml", "--output", "table.csv"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// What it prints, to either output, as it ends with this status.
    #[track_caller]
    fn run(&self, threads: &str, arguments: &[&str], status: i32) -> String {
        ended(self.start(threads, arguments), status)
    }
}

#[track_caller]
fn ended(child: Child, status: i32) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{text}");
    text
}

#[test]
fn the_same_table_for_any_number_of_threads() {
    let (one, two) = (Directory::new(), Directory::new());
    let report = one.run("1", &["--records", "records", "--json"], 0);
    let text = two.run("2", &["--records", "records"], 0);
    assert!(text.starts_with("table.csv: 40 places, 3 algorithms: "), "{text}");
    for file in ["table.csv", "records/table.parquet"] {
        assert!(one.read(file) == two.read(file), "{file} differs");
    }
    let mut files: Vec<_> =
        fs::read_dir(one.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["grid.toml", "records", "table.csv"]);

    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["places"], &report["unfinished"]), (&PLACES.into(), &0.into()));
    assert!(report["interval_p50"].as_f64().unwrap() < 0.05);
    let text = String::from_utf8(one.read("table.csv")).unwrap();
    let table = LatencyTable::parse(&text).unwrap();
    assert_eq!((table.grid.len(), table.to_text()), (PLACES, text));
    assert_eq!(table.algorithms, ["kk_bbr3", "kk_cubic"]);
    let grid = GRID.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let told: Vec<String> = grid.map(|line| format!("    {line}")).collect();
    assert!(table.origin.ends_with(&told), "{:?}", table.origin);
    for (place, row) in table.grid.places().zip(table.rows()) {
        let Load::Burst(bytes) = place.load else { panic!("no stream was asked for: {place}") };
        let bound_s = f64::from(place.rtt_us) / 2e6 + f64::from(bytes) * 8.0 / place.rate as f64;
        for expectation in row {
            assert!(expectation.latency_s > bound_s, "{place}");
            let lost = expectation.isolated + expectation.bursts * 8.0;
            let condition = &place.condition;
            // A run that goes on in one retransmission after the other counts as isolated losses.
            assert!(lost >= (condition.loss + condition.burst_loss) * 0.5, "{place}: {lost}");
        }
    }

    let again = one.run("1", &["--records", "records"], 2);
    assert!(again.contains("records/table.parquet is there already"), "{again}");
}

/// Waits for a journal with so many lines.
fn wait_for_lines(journal: &Path, lines: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while fs::read_to_string(journal).unwrap_or_default().lines().count() < lines {
        assert!(Instant::now() < deadline, "no {lines} lines in {}", journal.display());
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_was_interrupted_goes_on_with_the_same_bytes() {
    let (whole, parts) = (Directory::new(), Directory::new());
    whole.run("2", &["--records", "records"], 0);

    // Ctrl-C, and then a kill in the middle of a line.
    let journal = parts.path().join("table.csv.partial");
    let child = parts.start("1", &[]);
    wait_for_lines(&journal, 3);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let message = ended(child, 1);
    let kept = fs::read_to_string(&journal).unwrap();
    let places = kept.lines().count() - 1;
    assert!((2..PLACES).contains(&places));
    assert_eq!(
        message.trim(),
        format!(
            "kirikae-lab: interrupted: {places} of {PLACES} places are done and kept in \
             table.csv.partial; the same command goes on from there"
        )
    );
    assert!(!parts.path().join("table.csv").exists());
    fs::write(&journal, &kept[..kept.len() - 10]).unwrap();
    let text = parts.run("2", &["--records", "records"], 0);
    assert!(text.contains(&format!("({} places were done already)", places - 1)), "{text}");
    for file in ["table.csv", "records/table.parquet"] {
        assert!(whole.read(file) == parts.read(file), "{file} differs");
    }
    assert!(!journal.exists());

    // What was kept is of no use to another grid.
    fs::write(&journal, &kept).unwrap();
    fs::write(parts.path().join("grid.toml"), GRID.replace("seed = 3", "seed = 4")).unwrap();
    let refusal = parts.run("1", &[], 2);
    assert_eq!(
        refusal.trim(),
        "kirikae-lab: table.csv.partial: found another grid: `seed = 3` instead of `seed = 4`; allowed: what \
         this program wrote of shard 1/1 of this sweep; remove it to begin anew"
    );
    assert_eq!(fs::read_to_string(&journal).unwrap(), kept);
    assert!(whole.read("table.csv") == parts.read("table.csv"), "the table stays");

    let garbled = kept.replacen("\n[", "\n{", 1);
    fs::write(parts.path().join("grid.toml"), GRID).unwrap();
    fs::write(&journal, garbled).unwrap();
    let refusal = parts.run("1", &[], 2);
    assert!(refusal.contains("found something else in line 2;"), "{refusal}");
}
