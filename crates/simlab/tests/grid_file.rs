//! Every way in which a grid file can be wrong, and the one message that says so; and its page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kirikae_results::Error;
use kirikae_scenario::Refusal;
use kirikae_simlab::characterize::GridFile;

const GOOD: &str = r#"seed = 1
algorithms = ["kk_cubic", "kk_hybla", "kk_reno"]
candidates = ["kk_hybla", "kk_cubic"]
rtt = ["10 ms", "100 ms"]
rate = ["1 Mbit/s", "10 Mbit/s"]
burst = ["4 KiB", "64 KiB"]
loss = [1e-4, 1e-2]
queue = ["10 packets", "100 packets"]
burst-loss = [1e-3]
[confidence]
interval = 0.1
repetitions = [2, 5]
writes = [4, 100]
volume = "1 MiB"
[stack]
ecn = false
"#;

fn load(text: &str) -> Result<GridFile, Refusal> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("x.toml");
    fs::write(&file, text).unwrap();
    GridFile::load(&file).map_err(|refusal| {
        assert_eq!(Error::from(refusal.clone()).exit_status(), 2);
        Refusal { file: refusal.file.strip_prefix(&directory).unwrap().to_owned(), ..refusal }
    })
}

#[track_caller]
fn assert_refused(good: &str, bad: &str, message: &str) {
    assert_eq!(GOOD.matches(good).count(), 1, "{good:?} names one place");
    assert_eq!(load(&GOOD.replace(good, bad)).expect_err(bad).to_string(), message);
}

#[test]
fn a_grid_is_read() {
    let file = load(GOOD).unwrap();
    let grid = &file.grid;
    assert_eq!((&grid.rtts_us[..], &grid.bursts[..]), (&[10_000, 100_000][..], &[4096, 65536][..]));
    let conditions: Vec<String> = grid.conditions.iter().map(ToString::to_string).collect();
    assert_eq!(
        conditions,
        [
            "loss 0.0001, burst loss 0, queue 10",
            "loss 0.0001, burst loss 0, queue 100",
            "loss 0.01, burst loss 0, queue 10",
            "loss 0.01, burst loss 0, queue 100",
            "loss 0.0001, burst loss 0.001, queue 100",
        ]
    );
    let name = |&place: &usize| file.algorithms[place].name();
    assert_eq!(file.candidates.iter().map(name).collect::<Vec<_>>(), ["kk_hybla", "kk_cubic"]);
    let writes = [100, 4096, 65536, 1 << 20].map(|burst| file.confidence.writes(burst));
    assert_eq!(writes, [100, 100, 16, 4]);
    assert!(!file.stack.ecn);
}

#[test]
fn unknown_and_missing_keys() {
    assert_refused(
        "rtt = ",
        "rtts = ",
        "x.toml:4: rtts: unknown key; allowed: seed, algorithms, candidates, rtt, rate, burst, stream, \
         loss, queue, burst-loss, confidence, stack (did you mean rtt?)",
    );
    assert_refused(
        "volume = ",
        "volumes = ",
        "x.toml:14: confidence.volumes: unknown key; allowed: interval, repetitions, writes, volume \
         (did you mean volume?)",
    );
    assert_refused(
        "seed = 1\n",
        "",
        "x.toml:1: seed: missing required key; allowed: a whole number, such as 1",
    );
    assert_refused(
        "rate = [\"1 Mbit/s\", \"10 Mbit/s\"]\n",
        "",
        "x.toml:1: rate: missing required key; allowed: a list of 1 to 8 values",
    );
}

#[test]
fn algorithms() {
    assert_refused(
        r#"["kk_cubic", "kk_hybla", "kk_reno"]"#,
        r#"["kk_cubic", "kk_cubic"]"#,
        "x.toml:2: algorithms[1]: found \"kk_cubic\"; allowed: each algorithm once",
    );
    assert_refused(
        r#"["kk_hybla", "kk_cubic"]"#,
        r#"["kk_hybla", "kk_vegas"]"#,
        "x.toml:3: candidates[1]: found \"kk_vegas\"; allowed: kk_cubic, kk_hybla, kk_reno",
    );
    // All of ours are more than a table has columns.
    let none = GOOD.lines().filter(|line| !line.contains("kk_"));
    let refusal = load(&none.collect::<Vec<_>>().join("\n")).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "x.toml:1: candidates: missing required key; allowed: 1 to 8 of algorithms: a table has no \
         more columns"
    );
}

#[test]
fn axes() {
    assert_refused(
        r#"["10 ms", "100 ms"]"#,
        r#"["100 ms", "10 ms"]"#,
        "x.toml:4: rtt[1]: found \"10 ms\"; allowed: values in ascending order",
    );
    assert_refused(
        r#"["10 ms", "100 ms"]"#,
        r#"["1.5 us"]"#,
        r#"x.toml:4: rtt[0]: found "1.5 us"; allowed: whole microseconds from "1 us" to "4 s""#,
    );
    assert_refused(
        r#"["1 Mbit/s", "10 Mbit/s"]"#,
        r#"["1 kbit/s"]"#,
        r#"x.toml:5: rate[0]: found "1 kbit/s"; allowed: a rate from "10 kbit/s" to "100 Gbit/s""#,
    );
    let nine = (1..=9).map(|n| format!("\"{n} KiB\"")).collect::<Vec<_>>().join(", ");
    assert_refused(
        r#"["4 KiB", "64 KiB"]"#,
        &format!("[{nine}]"),
        &format!("x.toml:6: burst: found [{nine}]; allowed: a list of 1 to 8 values"),
    );
    assert_refused(
        r#"["4 KiB", "64 KiB"]"#,
        r#"["200 MiB"]"#,
        "x.toml:6: burst[0]: found \"200 MiB\"; allowed: a size that takes at most 1000 s at the \
         lowest rate",
    );
    assert_refused(
        "queue = [\"10 packets\"",
        "queue = [\"10 kB\"",
        r#"x.toml:8: queue[0]: found "10 kB"; allowed: packets, such as "100 packets""#,
    );
    assert_refused(
        "[1e-4, 1e-2]",
        "[0.1, 0.6]",
        "x.toml:7: loss[1]: found 0.6; allowed: a probability from 0 to 0.5",
    );
    let many = (1..=16).map(|n| format!("{n}e-3")).collect::<Vec<_>>().join(", ");
    assert_refused(
        "[1e-4, 1e-2]",
        &format!("[{many}]"),
        &format!(
            "x.toml:7: loss: found [{many}]; allowed: so many that there are at most 32 conditions; \
             every loss with every queue, and every burst-loss, are 33"
        ),
    );
}

#[test]
fn sizes_that_one_connection_cannot_carry() {
    let text =
        GOOD.replace("1 Mbit/s", "10 Mbit/s").replace("\"10 Mbit/s\", \"10", "\"10 Mbit/s\", \"20");
    let text = text.replace(r#"["4 KiB", "64 KiB"]"#, r#"["900 MiB"]"#);
    assert_eq!(
        load(&text).unwrap_err().allowed,
        "a size of which the bursts of a connection have less than 4 GiB together, see \
         confidence.volume"
    );
}

#[test]
fn confidence() {
    assert_refused(
        "[2, 5]",
        "[1, 5]",
        "x.toml:12: confidence.repetitions[0]: found 1; allowed: a whole number from 2 to 100000",
    );
    assert_refused(
        "[2, 5]",
        "[5, 2]",
        "x.toml:12: confidence.repetitions[1]: found 2; allowed: a whole number from 5 to 100000",
    );
    assert_refused(
        "[4, 100]",
        "[4]",
        "x.toml:13: confidence.writes: found [4]; allowed: [least, most], whole numbers from 1 to \
         100000",
    );
    assert_refused(
        "interval = 0.1",
        "interval = 0",
        "x.toml:11: confidence.interval: found 0; allowed: a number from 0.0001 to 1",
    );
}

#[test]
fn streams_are_shares_of_the_rate() {
    let streams = |list: &str| load(&format!("stream = {list}\n{GOOD}"));
    assert_eq!(streams("[0.15, 0.4]").unwrap().grid.streams, [0.15, 0.4]);
    let share = streams("[0.15, 1]").unwrap_err().to_string();
    assert!(share.contains("allowed: a share from 0.01 to 0.95"), "{share}");
    let many = streams("[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]").unwrap_err().to_string();
    assert!(many.contains("a list of 1 to 6 values"), "{many}");
}

#[test]
fn the_grid_that_ships_is_good() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tables/default.toml");
    let file = GridFile::load(&file).unwrap();
    assert_eq!((file.grid.len(), file.candidates.len()), (10_416, 8));
}

#[test]
fn the_page_has_every_key_and_an_example_that_is_read() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
    let page = fs::read_to_string(page).unwrap();
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    load(example).unwrap();
    let keys = |text: &str| -> BTreeSet<String> {
        let refusal = load(text).unwrap_err();
        assert_eq!(refusal.found, "unknown key", "{refusal}");
        refusal.allowed.split(", ").map(Into::into).collect()
    };
    let confidence = GOOD.replace("[confidence]", "[confidence]\nzzz = 1");
    let all = &keys(&format!("zzz = 1\n{GOOD}")) | &keys(&confidence);
    assert_eq!(all.len(), 16);
    for key in all {
        assert!(page.contains(&format!("| `{key}` |")), "no row for {key}");
    }
}
