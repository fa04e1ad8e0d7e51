//! What the tests read scenarios with.

use std::fs;

use kirikae_results::Error;
use kirikae_results::outcome::Outcome;
use kirikae_scenario::{Controls, Refusal, Scenario};
use kirikae_simlab::sim::{self, Files, Options};

/// A scenario that is read.
pub const GOOD: &str = r#"title = "A path"
seed = 1
[workload]
burst = "64 KiB"
interval = "2 s"
count = 60
[[path.forward]]
element = "loss"
probability = 0.01
[[path.forward]]
element = "rate"
rate = "10 Mbit/s"
queue = "100 packets"
[[path.backward]]
element = "delay"
delay = "100 ms"
[bench]
contenders = ["cubic", "kirikae"]
"#;

/// The times that quantities allow, in messages.
pub const TIMES: &str =
    r#"a time from "1 ns" to "60 min" in ns, us, ms, s or min, such as "200 ms""#;

/// Reads a scenario of this text, beside which there are files with these names and texts.
pub fn load(text: &str, files: &[(&str, &str)]) -> Result<Vec<Scenario>, Refusal> {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let file = directory.path().join("x.toml");
    fs::write(&file, text).unwrap();
    Scenario::load(&file).map_err(|refusal| {
        assert_eq!(Error::from(refusal.clone()).exit_status(), 2);
        // Without the directory, which is another each time.
        let found = refusal.found.replace(&format!("{}/", directory.path().display()), "");
        Refusal {
            file: refusal.file.strip_prefix(&directory).unwrap().to_owned(),
            found,
            ..refusal
        }
    })
}

/// Why the text is refused in which `good`, which names one place, is replaced by `bad`.
pub fn refusal(text: &str, good: &str, bad: &str, files: &[(&str, &str)]) -> String {
    assert_eq!(text.matches(good).count(), 1, "{good:?} names one place");
    load(&text.replace(good, bad), files).expect_err(bad).to_string()
}

/// That [`GOOD`] with `bad` in place of `good` is refused with this message.
///
/// # Panics
/// Panics if it is read, or the message is another one.
#[track_caller]
pub fn assert_refused(good: &str, bad: &str, message: &str) {
    assert_eq!(refusal(GOOD, good, bad, &[]), message);
}

/// What comes of a scenario of this text in virtual time.
pub fn simulate(text: &str, files: &[(&str, &str)]) -> Outcome {
    let scenarios = load(text, files).unwrap_or_else(|refusal| panic!("{refusal}"));
    let controls = Controls::default();
    sim::run(&scenarios, &Options { output: None, files: Files::default(), controls }).unwrap()
}

/// A figure of a simulation, and what it was when it was last measured.
pub type Figure = (&'static str, f64);

/// The figures that are better or worse than they were by more than this share, as lines of the table that
/// they stand in. Simulations are the same on every machine, so the room is for small changes of the code
/// alone: whoever makes something much better renews its figure, as who makes it worse.
pub fn moved(figures: &[Figure], now: &[f64], room: f64) -> Vec<String> {
    assert_eq!(figures.len(), now.len(), "each has a figure: {figures:?}");
    let both = figures.iter().zip(now);
    let moved = both.filter(|((_, figure), now)| (*now / figure - 1.0).abs() > room);
    moved.map(|((name, then), now)| format!("(\"{name}\", {now:.3}), // {then:.3}")).collect()
}
