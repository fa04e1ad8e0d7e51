//! Writes everything that a run measured into files: `run.json`, and `flows.jsonl`, `bursts.jsonl`,
//! `drops.jsonl` and `switches.jsonl` with a JSON object in each line.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use kirikae_algorithms::Algorithm;
use kirikae_scenario::{Contender, Scenario};
use kirikae_vocabulary::DirectionReport;
use serde::{Deserialize, Serialize};

use crate::error::{Error, While};
use crate::outcome::{Comparison, Outcome, Performance};
use crate::play::{Play, PlayedLink};

/// The directory of a run's records.
pub struct Records {
    directory: PathBuf,
    clock: Clock,
}

/// The kind of time in which a run measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The real kernel's time.
    #[default]
    Real,
    /// The simulator's time.
    Virtual,
}

/// A line of one of the JSON-lines files: the contender and seed it is about, and the data.
#[derive(Serialize)]
struct Line<'a, T> {
    scenario: &'a str,
    contender: Contender,
    seed: u64,
    #[serde(flatten)]
    what: &'a T,
}

/// `run.json`: all that is needed to run it again, and what the paths did.
#[derive(Serialize)]
struct Run<'a> {
    kirikae: &'static str,
    clock: Clock,
    /// Release of the kernel; None if none was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    interrupted: bool,
    /// Parameters that differ from the preset, of the algorithms that contended.
    parameters: BTreeMap<String, u32>,
    comparisons: Vec<RunComparison<'a>>,
}

#[derive(Serialize)]
struct RunComparison<'a> {
    scenario: &'a Scenario,
    paths: Vec<RunPath<'a>>,
    plays: Vec<RunPlay<'a>>,
}

#[derive(Serialize)]
struct RunPlay<'a> {
    contender: Contender,
    seed: u64,
    end_s: f64,
    links: &'a [PlayedLink],
}

#[derive(Serialize)]
struct RunPath<'a> {
    contender: Contender,
    seed: u64,
    unfinished: u32,
    held: bool,
    forward: &'a DirectionReport,
    backward: &'a DirectionReport,
}

/// The parameters of an algorithm that differ from the preset.
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
    pub fn create(parent: &Path, scenarios: &[Scenario], clock: Clock) -> Result<Records, Error> {
        let name = match scenarios {
            [one] => one.file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            several => format!("{}-scenarios", several.len()),
        };
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        let directory = parent.join(format!("{name}-{now}"));
        let making = || format!("making {}", directory.display());
        fs::create_dir_all(parent).of_directory(making)?;
        fs::create_dir(&directory).of_directory(making)?;
        Ok(Records { directory, clock })
    }

    /// The directory of the files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes all files.
    pub fn write(&self, outcome: &Outcome, algorithms: &[Algorithm]) -> Result<(), Error> {
        let release = || fs::read_to_string("/proc/sys/kernel/osrelease");
        let kernel = (self.clock == Clock::Real).then(release).transpose();
        let kernel = kernel.during(|| "reading the kernel's release".into())?;
        let comparisons = outcome.comparisons.iter().map(|comparison| RunComparison {
            scenario: &comparison.scenario,
            paths: comparison.performances.iter().map(run_path).collect(),
            plays: comparison.plays.iter().map(run_play).collect(),
        });
        let run = Run {
            kirikae: env!("CARGO_PKG_VERSION"),
            clock: self.clock,
            kernel: kernel.map(|release| release.trim().into()),
            interrupted: outcome.interrupted,
            parameters: algorithms.iter().flat_map(changed).collect(),
            comparisons: comparisons.collect(),
        };
        self.file("run.json", |file| Ok(serde_json::to_writer_pretty(file, &run)?))?;
        self.lines("bursts.jsonl", outcome, performances(|performance| &performance.bursts))?;
        self.lines("drops.jsonl", outcome, performances(|performance| &performance.report.drops))?;
        self.lines("switches.jsonl", outcome, performances(|performance| &performance.switches))?;
        self.lines("flows.jsonl", outcome, |comparison| {
            let plays = comparison.plays.iter();
            plays.map(|play| (play.contender, play.seed, &play.flows[..])).collect()
        })
    }

    /// Writes a line for each thing that `of` returns for a comparison.
    fn lines<T: Serialize>(
        &self,
        name: &str,
        outcome: &Outcome,
        of: impl Fn(&Comparison) -> Vec<Recorded<'_, T>>,
    ) -> Result<(), Error> {
        self.file(name, |file| {
            for comparison in &outcome.comparisons {
                let scenario = &comparison.scenario.title;
                for (contender, seed, recorded) in of(comparison) {
                    for what in recorded {
                        let line = Line { scenario, contender, seed, what };
                        serde_json::to_writer(&mut *file, &line)?;
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

/// The contender, the seed, and its records.
type Recorded<'a, T> = (Contender, u64, &'a [T]);

/// The same part of every performance.
fn performances<T>(
    part: impl Fn(&Performance) -> &Vec<T>,
) -> impl Fn(&Comparison) -> Vec<Recorded<'_, T>> {
    move |comparison| {
        let performances = comparison.performances.iter();
        performances.map(|it| (it.contender, it.seed, &part(it)[..])).collect()
    }
}

fn run_play(play: &Play) -> RunPlay<'_> {
    let Play { contender, seed, end_s, links, .. } = play;
    RunPlay { contender: *contender, seed: *seed, end_s: *end_s, links }
}

fn run_path(performance: &Performance) -> RunPath<'_> {
    let report = &performance.report;
    RunPath {
        contender: performance.contender,
        seed: performance.seed,
        unfinished: performance.unfinished,
        held: report.held,
        forward: &report.forward,
        backward: &report.backward,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Burst, Delivery};

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
            let contender = Contender::Kirikae;
            let line = Line { scenario: "a path", contender, seed: 1, what: &burst };
            let text = serde_json::to_string(&line).unwrap();
            let head = r#"{"scenario":"a path","contender":"kirikae","seed":1,"index":3,"#;
            assert!(text.starts_with(head));
            assert_eq!(serde_json::from_str::<Burst>(&text).unwrap(), burst);
        }
    }
}
