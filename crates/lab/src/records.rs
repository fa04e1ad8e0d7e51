//! Everything a run measured, as files: `run.json`, and `bursts.jsonl`, `drops.jsonl` and
//! `switches.jsonl` with a JSON object in each line.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use kirikae_agent::Switch;
use kirikae_algorithms::Algorithm;
use kirikae_emu::{DirectionReport, DroppedPacket};
use serde::Serialize;

use crate::error::{Error, While};
use crate::outcome::{Burst, Outcome, Performance};
use crate::scenario::{Contender, Scenario};

/// The directory of a run's records.
pub struct Records {
    directory: PathBuf,
}

/// A line of one of the JSON-lines files: whose it is, and what.
#[derive(Serialize)]
struct Line<'a, T> {
    scenario: &'a str,
    contender: Contender,
    #[serde(flatten)]
    what: &'a T,
}

/// `run.json`: all that is needed to run it again, and what the paths did.
#[derive(Serialize)]
struct Run<'a> {
    kirikae: &'static str,
    kernel: String,
    interrupted: bool,
    /// Of algorithms that contended, where they were not as preset.
    parameters: BTreeMap<String, u32>,
    comparisons: Vec<RunComparison<'a>>,
}

#[derive(Serialize)]
struct RunComparison<'a> {
    scenario: &'a Scenario,
    paths: Vec<RunPath<'a>>,
}

#[derive(Serialize)]
struct RunPath<'a> {
    contender: Contender,
    unfinished: u32,
    held: bool,
    forward: &'a DirectionReport,
    backward: &'a DirectionReport,
}

/// The parameters of an algorithm that are not as preset.
fn changed(algorithm: &Algorithm) -> impl Iterator<Item = (String, u32)> {
    let (name, values) = (algorithm.name(), *algorithm.values());
    algorithm
        .parameters()
        .zip(values)
        .filter(|(parameter, value)| *value != parameter.preset)
        .map(move |(parameter, value)| (format!("{name}.{}", parameter.name), value))
}

impl Records {
    /// Makes a directory for the run in `parent`: `<scenario>-<UTC time>`.
    pub fn create(parent: &Path, scenarios: &[Scenario]) -> Result<Records, Error> {
        let name = match scenarios {
            [one] => one.file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            several => format!("{}-scenarios", several.len()),
        };
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        let directory = parent.join(format!("{name}-{now}"));
        let making = || format!("making {}", directory.display());
        fs::create_dir_all(parent).during(making)?;
        fs::create_dir(&directory).during(making)?;
        Ok(Records { directory })
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes all files.
    pub fn write(&self, outcome: &Outcome, algorithms: &[Algorithm]) -> Result<(), Error> {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")
            .during(|| "reading the kernel's release".into())?;
        let comparisons = outcome.comparisons.iter().map(|comparison| RunComparison {
            scenario: &comparison.scenario,
            paths: comparison.performances.iter().map(run_path).collect(),
        });
        let run = Run {
            kirikae: env!("CARGO_PKG_VERSION"),
            kernel: kernel.trim().into(),
            interrupted: outcome.interrupted,
            parameters: algorithms.iter().flat_map(changed).collect(),
            comparisons: comparisons.collect(),
        };
        self.file("run.json", |file| Ok(serde_json::to_writer_pretty(file, &run)?))?;
        self.lines("bursts.jsonl", outcome, |performance| &performance.bursts[..] as &[Burst])?;
        self.lines("drops.jsonl", outcome, |performance| {
            &performance.report.drops[..] as &[DroppedPacket]
        })?;
        self.lines("switches.jsonl", outcome, |performance| {
            &performance.switches[..] as &[Switch]
        })
    }

    fn lines<T: Serialize + 'static>(
        &self,
        name: &str,
        outcome: &Outcome,
        of: impl Fn(&Performance) -> &[T],
    ) -> Result<(), Error> {
        self.file(name, |file| {
            for comparison in &outcome.comparisons {
                let scenario = &comparison.scenario.title;
                for performance in &comparison.performances {
                    let contender = performance.contender;
                    for what in of(performance) {
                        serde_json::to_writer(&mut *file, &Line { scenario, contender, what })?;
                        file.write_all(b"\n")?;
                    }
                }
            }
            Ok(())
        })
    }

    fn file(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        let path = self.directory.join(name);
        File::create_new(&path)
            .and_then(|file| {
                let mut file = BufWriter::new(file);
                write(&mut file)?;
                file.flush()
            })
            .during(|| format!("writing {}", path.display()))
    }
}

fn run_path(performance: &Performance) -> RunPath<'_> {
    let report = &performance.report;
    RunPath {
        contender: performance.contender,
        unfinished: performance.unfinished,
        held: report.held,
        forward: &report.forward,
        backward: &report.backward,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Delivery;

    #[test]
    fn a_burst_is_read_back_from_its_line() {
        let delivery = Delivery { latency_s: 0.155, first_to_last_s: 0.055, bound_s: 0.15434 };
        let arrived = Burst {
            index: 3,
            warmup: false,
            start_ns: 12_345_678_901,
            algorithm_before: "cubic".into(),
            algorithm_after: "kk_hybla".into(),
            switches: 1,
            delivery: Some(delivery),
        };
        let missing = Burst { delivery: None, ..arrived.clone() };
        for burst in [arrived, missing] {
            let line = Line { scenario: "a path", contender: Contender::Kirikae, what: &burst };
            let text = serde_json::to_string(&line).unwrap();
            assert!(text.starts_with(r#"{"scenario":"a path","contender":"kirikae","index":3,"#));
            assert_eq!(serde_json::from_str::<Burst>(&text).unwrap(), burst);
        }
    }
}
