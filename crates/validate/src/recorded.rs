//! Reads what an earlier `kirikae-lab bench` recorded, to be the kernel's side.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use kirikae_results::outcome::Burst;
use kirikae_results::play::{Play, PlayedFlow, PlayedLink};
use kirikae_results::records::Clock;
use kirikae_results::{Error, While};
use kirikae_scenario::{Contender, Scenario};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::side::{Measured, Side};

/// Reads the latencies of these scenarios that an earlier `kirikae-lab bench` recorded in a directory; it may
/// also have others.
///
/// # Errors
/// Fails if the directory has no such records, or the simulator's, or those of a different scenario with the
/// title of one of these.
pub fn recorded(directory: &Path, scenarios: &[Scenario]) -> Result<Side, Error> {
    let mut side = recorded_run(directory, scenarios)?;
    lines(&directory.join("bursts.jsonl"), |line: Recorded<Burst>| {
        if let Some(delivery) = line.what.delivery.filter(|_| !line.what.warmup) {
            let measured = side.entry((line.scenario, line.contender)).or_default();
            measured.bursts.insert((line.seed, line.what.index), delivery.latency_s);
        }
    })?;
    // A bench whose scenarios had only bursts wrote no flows.
    let path = directory.join("flows.jsonl");
    if path.exists() {
        lines(&path, |line: Recorded<PlayedFlow>| {
            let measured = side.entry((line.scenario, line.contender)).or_default();
            if let Some(play) = measured.plays.iter_mut().find(|play| play.seed == line.seed) {
                play.flows.push(line.what);
            }
        })?;
    }
    Ok(side)
}

/// Calls `each` for every line of a file of JSON lines.
fn lines<T: DeserializeOwned>(path: &Path, mut each: impl FnMut(T)) -> Result<(), Error> {
    let reading = || format!("reading {}", path.display());
    let lines = BufReader::new(File::open(path).of_directory(reading)?).lines();
    for (place, line) in (1..).zip(lines) {
        each(serde_json::from_str(&line.of_directory(reading)?).map_err(|error| {
            let path = path.display();
            Error::Directory(format!("{path}:{place}: no such record ({error})"))
        })?);
    }
    Ok(())
}

/// A record with its scenario, contender and seed.
#[derive(Deserialize)]
struct Recorded<T> {
    scenario: String,
    contender: Contender,
    seed: u64,
    #[serde(flatten)]
    what: T,
}

/// The parts of `run.json` that are needed here.
#[derive(Deserialize)]
struct RecordedRun {
    /// The clock; it is missing in records from when only the bench wrote any.
    #[serde(default)]
    clock: Clock,
    comparisons: Vec<RecordedComparison>,
}

#[derive(Deserialize)]
struct RecordedComparison {
    scenario: RecordedScenario,
    paths: Vec<RecordedPath>,
    /// The plays; they are missing if the bench had only bursts.
    #[serde(default)]
    plays: Vec<RecordedPlay>,
}

#[derive(Deserialize)]
struct RecordedScenario {
    title: String,
    /// All other keys.
    #[serde(flatten)]
    parts: Map<String, Value>,
}

impl RecordedScenario {
    /// The first difference from `asked` that would give other measurements and was recorded.
    fn difference(&self, asked: &Scenario) -> Option<String> {
        // The scenario is written and read as the recorded one was, so that equal numbers stay equal.
        let text = serde_json::to_string(asked).expect("a scenario can be written");
        let asked: Map<String, Value> = serde_json::from_str(&text).expect("and read again");
        let parts = ["seed", "links", "flows", "stack", "duration", "measured"].into_iter();
        parts
            .filter_map(|part| Some((part, self.parts.get(part)?, asked.get(part)?)))
            .find_map(|(part, recorded, asked)| difference(part.into(), recorded, asked))
    }
}

/// The first place at which `recorded` differs from `asked`. Keys that only `asked` has do not count.
fn difference(place: String, recorded: &Value, asked: &Value) -> Option<String> {
    match (recorded, asked) {
        (Value::Object(recorded), Value::Object(asked)) => {
            let missing = Value::Null;
            recorded.iter().find_map(|(key, value)| {
                difference(format!("{place}.{key}"), value, asked.get(key).unwrap_or(&missing))
            })
        }
        (Value::Array(recorded), Value::Array(asked)) if recorded.len() == asked.len() => {
            let pairs = (0..).zip(recorded.iter().zip(asked));
            let differences = pairs.map(|(index, (recorded, asked))| {
                difference(format!("{place}[{index}]"), recorded, asked)
            });
            differences.flatten().next()
        }
        _ => (recorded != asked).then(|| format!("{place} was {recorded} and is {asked}")),
    }
}

#[derive(Deserialize)]
struct RecordedPath {
    contender: Contender,
    held: bool,
}

#[derive(Deserialize)]
struct RecordedPlay {
    contender: Contender,
    seed: u64,
    end_s: f64,
    links: Vec<PlayedLink>,
}

/// The contenders of a recorded run, and whether its networks held; it has no bursts and no flows yet.
fn recorded_run(directory: &Path, scenarios: &[Scenario]) -> Result<Side, Error> {
    let path = directory.join("run.json");
    let file = File::open(&path).of_directory(|| format!("reading {}", path.display()))?;
    let run: RecordedRun = serde_json::from_reader(BufReader::new(file)).map_err(|error| {
        Error::Directory(format!("{}: no run's record ({error})", path.display()))
    })?;
    if run.clock == Clock::Virtual {
        return Err(Error::Directory(format!(
            "{}: clock: found virtual; allowed: real, as in the records of kirikae-lab bench",
            path.display()
        )));
    }
    let mut side = Side::new();
    for RecordedComparison { scenario: recorded, paths, plays } in run.comparisons {
        let asked = scenarios.iter().find(|scenario| scenario.title == recorded.title);
        if let Some(difference) = asked.and_then(|asked| recorded.difference(asked)) {
            let (path, title) = (path.display(), &recorded.title);
            return Err(Error::Directory(format!(
                "{path}: {title:?} was recorded of another scenario: {difference}"
            )));
        }
        let key = |contender| (recorded.title.clone(), contender);
        for RecordedPath { contender, held } in paths {
            side.entry(key(contender)).or_insert_with(Measured::held).held &= held;
        }
        for RecordedPlay { contender, seed, end_s, links } in plays {
            let play = Play { contender, seed, end_s, flows: Vec::new(), links };
            let measured = side.entry(key(contender)).or_insert_with(Measured::held);
            measured.held &= play.held();
            measured.plays.push(play);
        }
    }
    Ok(side)
}
