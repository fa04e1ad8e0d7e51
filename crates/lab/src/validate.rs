//! The simulator held against the kernel: the same scenarios through both, side by side.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use comfy_table::{CellAlignment, LineStyle, Table, presets};
use kirikae_path::{ElementSpec, Order, Span};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, While};
use crate::outcome::{Burst, Outcome, Performance};
use crate::records::Clock;
use crate::scenario::Scenario;
use crate::statistics::{Estimate, mean, quantile, ratio_of_means};

/// How far the simulated mean may be from the kernel's.
pub const MEAN_WITHIN: f64 = 0.05;
/// How far the simulated 95th percentile may be from the kernel's.
pub const P95_WITHIN: f64 = 0.10;
/// Share of the cells that are to be within both.
pub const CELLS_WITHIN: f64 = 0.90;

/// One side's measurements, by scenario title and contender.
pub type Side = BTreeMap<(String, String), Latencies>;

/// What was measured of one contender of one scenario.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Whether the path was the one described, see [`kirikae_emu::Report::held`].
    pub held: bool,
    /// Seconds, of the bursts that counted and arrived, by number.
    pub seconds: BTreeMap<u32, f64>,
}

/// One contender of one scenario, on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The scenario's title.
    pub scenario: String,
    /// The contender's name.
    pub contender: String,
    /// Bursts that arrived on both sides.
    pub n: usize,
    /// Whether the emulated path was the one described; otherwise the cell says nothing.
    pub held: bool,
    /// Mean latency on the kernel, in seconds.
    pub kernel_mean_s: Estimate,
    /// Mean latency in the simulator, in seconds.
    pub simulated_mean_s: Estimate,
    /// Simulated mean over the kernel's, paired by burst.
    pub mean_ratio: Estimate,
    /// Simulated median over the kernel's: what a busy machine distorts least.
    pub p50_ratio: f64,
    /// 95th percentile on the kernel, in seconds.
    pub kernel_p95_s: f64,
    /// 95th percentile in the simulator, in seconds.
    pub simulated_p95_s: f64,
}

impl Cell {
    /// Whether the mean is within [`MEAN_WITHIN`] of the kernel's.
    pub fn mean_agrees(&self) -> bool {
        (self.mean_ratio.value - 1.0).abs() <= MEAN_WITHIN
    }

    /// Whether the 95th percentile is within [`P95_WITHIN`] of the kernel's.
    pub fn p95_agrees(&self) -> bool {
        (self.p95_ratio() - 1.0).abs() <= P95_WITHIN
    }

    /// Whether both are, and the kernel's side can be believed.
    pub fn agrees(&self) -> bool {
        self.held && self.mean_agrees() && self.p95_agrees()
    }

    /// Simulated 95th percentile over the kernel's.
    pub fn p95_ratio(&self) -> f64 {
        self.simulated_p95_s / self.kernel_p95_s
    }
}

/// The scenario as the emulator plays it: packets leave a little late, by what it was seen to take
/// (docs/measurements.md: 21 us in the median). Without such noise what is renewed by a lower RTT
/// never is, and two things that are due at the same time always come in the same order.
pub fn as_emulated(scenario: &Scenario) -> Scenario {
    let late = Span::from_nanos(21_000);
    let jitter = Span::from_nanos(20_000);
    let late = ElementSpec::Jitter { delay: late, jitter, order: Order::Kept };
    let mut scenario = scenario.clone();
    for link in &mut scenario.links {
        link.path.forward.push(late.clone());
        link.path.backward.push(late.clone());
    }
    scenario
}

/// The latencies of a run; of repetitions the first, which has the kernel's seed.
pub fn latencies(outcome: &Outcome) -> Side {
    let mut side = Side::new();
    for comparison in &outcome.comparisons {
        let once = |performance: &&Performance| performance.seed == comparison.scenario.seed;
        for performance in comparison.performances.iter().filter(once) {
            let key = (comparison.scenario.title.clone(), performance.contender.name().into());
            let bursts = performance.counted().map(|(index, delivery)| (index, delivery.latency_s));
            let held = performance.report.held;
            side.insert(key, Latencies { held, seconds: bursts.collect() });
        }
    }
    side
}

/// The latencies that an earlier `kirikae bench` recorded in a directory, of these scenarios and
/// others.
///
/// # Errors
/// A directory without such records, with those of the simulator, or with those of a scenario that has
/// the title of one of these and is another.
pub fn recorded(directory: &Path, scenarios: &[Scenario]) -> Result<Side, Error> {
    let mut side = recorded_paths(directory, scenarios)?;
    let path = directory.join("bursts.jsonl");
    let reading = || format!("reading {}", path.display());
    let lines = BufReader::new(File::open(&path).of_directory(reading)?).lines();
    for (place, line) in (1..).zip(lines) {
        let line: RecordedBurst =
            serde_json::from_str(&line.of_directory(reading)?).map_err(|error| {
                let path = path.display();
                Error::Directory(format!("{path}:{place}: no burst's record ({error})"))
            })?;
        if let Some(delivery) = line.burst.delivery.filter(|_| !line.burst.warmup) {
            let latencies = side.entry((line.scenario, line.contender)).or_default();
            latencies.seconds.insert(line.burst.index, delivery.latency_s);
        }
    }
    Ok(side)
}

#[derive(Deserialize)]
struct RecordedBurst {
    scenario: String,
    contender: String,
    #[serde(flatten)]
    burst: Burst,
}

/// `run.json`, as far as it matters here.
#[derive(Deserialize)]
struct RecordedRun {
    /// Missing where only the bench wrote records.
    #[serde(default)]
    clock: Clock,
    comparisons: Vec<RecordedComparison>,
}

#[derive(Deserialize)]
struct RecordedComparison {
    scenario: RecordedScenario,
    paths: Vec<RecordedPath>,
}

#[derive(Deserialize)]
struct RecordedScenario {
    title: String,
    /// Whatever else is known of it.
    #[serde(flatten)]
    parts: Map<String, Value>,
}

impl RecordedScenario {
    /// What of it is not as in `asked`, as far as it makes another measurement and was recorded.
    fn difference(&self, asked: &Scenario) -> Option<String> {
        // Written and read again as the recorded one was, numbers are the same if they were.
        let text = serde_json::to_string(asked).expect("a scenario can be written");
        let asked: Map<String, Value> = serde_json::from_str(&text).expect("and read again");
        let parts = ["seed", "links", "flows"].into_iter();
        parts
            .filter_map(|part| Some((part, self.parts.get(part)?, asked.get(part)?)))
            .find_map(|(part, recorded, asked)| difference(part.into(), recorded, asked))
    }
}

/// The first place at which `recorded` is not as `asked`; what only the latter has does not count.
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
            let differences = pairs
                .map(|(index, (recorded, asked))| difference(format!("{place}[{index}]"), recorded, asked));
            differences.flatten().next()
        }
        _ => (recorded != asked).then(|| format!("{place} was {recorded} and is {asked}")),
    }
}

#[derive(Deserialize)]
struct RecordedPath {
    contender: String,
    held: bool,
}

/// Which paths a recorded run had, and whether they held; no latencies yet.
fn recorded_paths(directory: &Path, scenarios: &[Scenario]) -> Result<Side, Error> {
    let path = directory.join("run.json");
    let file = File::open(&path).of_directory(|| format!("reading {}", path.display()))?;
    let run: RecordedRun = serde_json::from_reader(BufReader::new(file)).map_err(|error| {
        Error::Directory(format!("{}: no run's record ({error})", path.display()))
    })?;
    if run.clock == Clock::Virtual {
        return Err(Error::Directory(format!(
            "{}: clock: found virtual; allowed: real, as in the records of kirikae bench",
            path.display()
        )));
    }
    for RecordedComparison { scenario: recorded, .. } in &run.comparisons {
        let asked = scenarios.iter().find(|scenario| scenario.title == recorded.title);
        if let Some(difference) = asked.and_then(|asked| recorded.difference(asked)) {
            let (path, title) = (path.display(), &recorded.title);
            return Err(Error::Directory(format!(
                "{path}: {title:?} was recorded of another scenario: {difference}"
            )));
        }
    }
    let paths = run.comparisons.into_iter().flat_map(|comparison| {
        let title = comparison.scenario.title;
        comparison.paths.into_iter().map(move |path| {
            let latencies = Latencies { held: path.held, ..Latencies::default() };
            ((title.clone(), path.contender), latencies)
        })
    });
    Ok(paths.collect())
}

/// Every contender of every scenario that ran on both sides, in alphabetical order.
pub fn cells(kernel: &Side, simulated: &Side) -> Vec<Cell> {
    let cell = |((scenario, contender), measured): (&(String, String), &Latencies)| {
        let other = simulated.get(&(scenario.clone(), contender.clone()))?;
        let pairs: Vec<(f64, f64)> = measured
            .seconds
            .iter()
            .filter_map(|(index, kernel_s)| Some((*other.seconds.get(index)?, *kernel_s)))
            .collect();
        let (of_simulator, of_kernel): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (simulated_mean_s, kernel_mean_s) = (mean(&of_simulator)?, mean(&of_kernel)?);
        let quantiles = |mut latencies: Vec<f64>| {
            latencies.sort_by(f64::total_cmp);
            Some((quantile(&latencies, 0.50)?, quantile(&latencies, 0.95)?))
        };
        let (simulated_p50_s, simulated_p95_s) = quantiles(of_simulator)?;
        let (kernel_p50_s, kernel_p95_s) = quantiles(of_kernel)?;
        Some(Cell {
            scenario: scenario.clone(),
            contender: contender.clone(),
            n: pairs.len(),
            held: measured.held,
            kernel_mean_s,
            simulated_mean_s,
            mean_ratio: ratio_of_means(&pairs)?,
            p50_ratio: simulated_p50_s / kernel_p50_s,
            kernel_p95_s,
            simulated_p95_s,
        })
    };
    kernel.iter().filter_map(cell).collect()
}

/// Whether enough of the cells agree.
pub fn enough_agree(cells: &[Cell]) -> bool {
    let agreeing = cells.iter().filter(|cell| cell.agrees()).count();
    !cells.is_empty() && agreeing as f64 >= CELLS_WITHIN * cells.len() as f64
}

/// The table, and how many cells agree.
pub fn render(cells: &[Cell]) -> String {
    let mut text = String::new();
    let mut rest = cells;
    while let Some(first) = rest.first() {
        let of_scenario = rest.iter().take_while(|cell| cell.scenario == first.scenario).count();
        let (these, others) = rest.split_at(of_scenario);
        writeln!(text, "{}\n{}", first.scenario, table(these)).expect("writing to a string");
        rest = others;
    }
    let agreeing = cells.iter().filter(|cell| cell.agrees()).count();
    let (mean, p95) = (MEAN_WITHIN * 100.0, P95_WITHIN * 100.0);
    writeln!(
        text,
        "{agreeing} of {} cells agree: mean within {mean:.0} %, 95th percentile within {p95:.0} %.",
        cells.len()
    )
    .expect("writing to a string");
    text + "Latency in seconds, from the start of a burst's write to its last byte in order. The ratio is the\n\
            simulator's to the kernel's, of the means paired by burst, with Student's 95 % interval.\n"
}

fn table(cells: &[Cell]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_header([
        "contender",
        "n",
        "mean, kernel",
        "simulated",
        "ratio",
        "p95, kernel",
        "simulated",
        "ratio",
        "",
    ]);
    for cell in cells {
        let marks = [
            (cell.mean_agrees(), "mean"),
            (cell.p95_agrees(), "p95"),
            (cell.held, "path not held"),
        ];
        let marks = marks.iter().filter(|(agrees, _)| !agrees).map(|(_, what)| *what);
        table.add_row([
            cell.contender.clone(),
            cell.n.to_string(),
            format!("{:.3}", cell.kernel_mean_s.value),
            format!("{:.3}", cell.simulated_mean_s.value),
            match cell.mean_ratio.half_width {
                Some(half) => format!("{:.3} ± {half:.3}", cell.mean_ratio.value),
                None => format!("{:.3}", cell.mean_ratio.value),
            },
            format!("{:.3}", cell.kernel_p95_s),
            format!("{:.3}", cell.simulated_p95_s),
            format!("{:.3}", cell.p95_ratio()),
            marks.collect::<Vec<_>>().join(", "),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.force_no_tty();
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(bursts: &[f64]) -> Side {
        let seconds = (1..).zip(bursts.iter().copied()).collect();
        Side::from([(("a path".into(), "cubic".into()), Latencies { held: true, seconds })])
    }

    #[test]
    fn cells_agree_or_do_not() {
        let kernel = latencies(&[0.5; 40]);
        let near = &cells(&kernel, &latencies(&[0.52; 40]))[0];
        assert!((near.mean_ratio.value - 1.04).abs() < 1e-9 && near.agrees());
        let far = &cells(&kernel, &latencies(&[0.53; 40]))[0];
        assert!(!far.mean_agrees() && far.p95_agrees() && !far.agrees());
        let mut tail = [0.5; 40];
        tail[..4].fill(0.56);
        let tailed = &cells(&kernel, &latencies(&tail))[0];
        assert!(tailed.mean_agrees() && !tailed.p95_agrees());
        assert!(enough_agree(std::slice::from_ref(near)));
        assert!(!enough_agree(std::slice::from_ref(far)) && !enough_agree(&[]));
    }

    #[test]
    fn bursts_are_paired_by_number() {
        let kernel = latencies(&[0.1, 0.2, 0.3]);
        let mut simulated = latencies(&[0.1, 0.2]);
        simulated.values_mut().next().unwrap().seconds.insert(9, 7.0);
        let cell = &cells(&kernel, &simulated)[0];
        assert_eq!((cell.n, cell.mean_ratio.value), (2, 1.0));
    }
}
