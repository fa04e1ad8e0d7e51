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
use crate::report::estimate;
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
    /// Bursts that should have arrived on the kernel and did not, or were not measured.
    pub kernel_missing: usize,
    /// The same of the simulator.
    pub simulated_missing: usize,
    /// Whether the emulated path was the one described; otherwise the cell says nothing.
    pub held: bool,
    /// None where no burst arrived on both sides.
    #[serde(flatten)]
    pub figures: Option<Figures>,
}

/// The latencies of bursts that arrived on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
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

impl Figures {
    /// Of latencies in the simulator and on the kernel, by burst.
    fn new(pairs: &[(f64, f64)]) -> Option<Figures> {
        let (of_simulator, of_kernel): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (simulated_mean_s, kernel_mean_s) = (mean(&of_simulator)?, mean(&of_kernel)?);
        let quantiles = |mut latencies: Vec<f64>| {
            latencies.sort_by(f64::total_cmp);
            Some((quantile(&latencies, 0.50)?, quantile(&latencies, 0.95)?))
        };
        let (simulated_p50_s, simulated_p95_s) = quantiles(of_simulator)?;
        let (kernel_p50_s, kernel_p95_s) = quantiles(of_kernel)?;
        Some(Figures {
            kernel_mean_s,
            simulated_mean_s,
            mean_ratio: ratio_of_means(pairs)?,
            p50_ratio: simulated_p50_s / kernel_p50_s,
            kernel_p95_s,
            simulated_p95_s,
        })
    }

    /// Whether the mean is within [`MEAN_WITHIN`] of the kernel's.
    pub fn mean_agrees(&self) -> bool {
        (self.mean_ratio.value - 1.0).abs() <= MEAN_WITHIN
    }

    /// Whether the 95th percentile is within [`P95_WITHIN`] of the kernel's.
    pub fn p95_agrees(&self) -> bool {
        (self.p95_ratio() - 1.0).abs() <= P95_WITHIN
    }

    /// Simulated 95th percentile over the kernel's.
    pub fn p95_ratio(&self) -> f64 {
        self.simulated_p95_s / self.kernel_p95_s
    }
}

/// Fewest bursts on both sides that say anything.
const FEWEST: usize = 2;

impl Cell {
    /// Whether mean and 95th percentile do, and there is nothing else to say.
    pub fn agrees(&self) -> bool {
        self.reservations().is_empty()
    }

    /// Why it does not agree, in a few words each.
    fn reservations(&self) -> Vec<String> {
        let mut reservations = Vec::new();
        let mut unless = |good: bool, what: &str| {
            if !good {
                reservations.push(what.to_owned());
            }
        };
        if let Some(figures) = &self.figures {
            unless(figures.mean_agrees(), "mean");
            unless(figures.p95_agrees(), "p95");
            unless(self.held, "path not held");
        }
        unless(self.n >= FEWEST, "too few");
        for (missing, side) in
            [(self.kernel_missing, "kernel"), (self.simulated_missing, "simulator")]
        {
            unless(missing == 0, &format!("{missing} missing from the {side}"));
        }
        reservations
    }
}

/// The scenario as the emulator plays it: packets leave a little late, by 20 to 40 us and 30 us in the
/// median. Of the emulator's paths docs/measurements.md has medians from 24 to 46 us. Without such
/// noise what is renewed by a lower RTT never is, and two things that are due at the same time always
/// come in the same order.
pub fn as_emulated(scenario: &Scenario) -> Scenario {
    let spread = Span::from_nanos(20_000);
    let late = ElementSpec::Jitter { delay: spread, jitter: spread, order: Order::Kept };
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

/// Every contender of every scenario that was asked for, in that order.
pub fn cells(scenarios: &[Scenario], kernel: &Side, simulated: &Side) -> Vec<Cell> {
    let asked = scenarios.iter().flat_map(|scenario| {
        scenario.contenders.iter().map(move |contender| (scenario, contender.name()))
    });
    asked.map(|(scenario, contender)| cell(scenario, contender, kernel, simulated)).collect()
}

fn cell(scenario: &Scenario, contender: &str, kernel: &Side, simulated: &Side) -> Cell {
    let nothing = Latencies::default();
    let key = (scenario.title.clone(), contender.to_owned());
    let [kernel, simulated] = [kernel, simulated].map(|side| side.get(&key).unwrap_or(&nothing));
    let pairs: Vec<(f64, f64)> = kernel
        .seconds
        .iter()
        .filter_map(|(index, kernel_s)| Some((*simulated.seconds.get(index)?, *kernel_s)))
        .collect();
    let expected = scenario.timed().map_or(0, |(_, workload)| workload.count() as usize);
    let missing = |side: &Latencies| expected.saturating_sub(side.seconds.len());
    let (scenario, contender) = key;
    Cell {
        scenario,
        contender,
        n: pairs.len(),
        kernel_missing: missing(kernel),
        simulated_missing: missing(simulated),
        held: kernel.held,
        figures: Figures::new(&pairs),
    }
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
        let figures = cell.figures.as_ref();
        let seconds = |of: fn(&Figures) -> f64| {
            figures.map_or("-".into(), |figures| format!("{:.3}", of(figures)))
        };
        table.add_row([
            cell.contender.clone(),
            cell.n.to_string(),
            seconds(|figures| figures.kernel_mean_s.value),
            seconds(|figures| figures.simulated_mean_s.value),
            estimate(figures.map(|figures| figures.mean_ratio), 3),
            seconds(|figures| figures.kernel_p95_s),
            seconds(|figures| figures.simulated_p95_s),
            seconds(Figures::p95_ratio),
            cell.reservations().join(", "),
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

    const SCENARIO: &str = r#"title = "a path"
        seed = 1
        workload = { burst = "64 KiB", interval = "2 s", count = 40 }
        [path]
        forward = [{ element = "delay", delay = "1 s" }]
        backward = [{ element = "delay", delay = "1 s" }]
        [bench]
        contenders = ["cubic"]"#;

    fn side(bursts: &[f64]) -> Side {
        let seconds = (1..).zip(bursts.iter().copied()).collect();
        Side::from([(("a path".into(), "cubic".into()), Latencies { held: true, seconds })])
    }

    /// The only cell of the scenario, of which so many bursts are asked for.
    fn only(count: usize, kernel: &Side, simulated: &Side) -> Cell {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.toml");
        std::fs::write(&file, SCENARIO.replace("40", &count.to_string())).unwrap();
        let [cell] = &cells(&Scenario::load(&file).unwrap(), kernel, simulated)[..] else {
            panic!("one scenario with one contender")
        };
        cell.clone()
    }

    #[test]
    fn cells_agree_or_do_not() {
        let kernel = side(&[0.5; 40]);
        let near = only(40, &kernel, &side(&[0.52; 40]));
        let ratio = near.figures.as_ref().unwrap().mean_ratio;
        assert!((ratio.value - 1.04).abs() < 1e-9 && near.agrees());
        let far = only(40, &kernel, &side(&[0.53; 40]));
        assert_eq!(far.reservations(), ["mean"]);
        let mut tail = [0.5; 40];
        tail[..4].fill(0.56);
        assert_eq!(only(40, &kernel, &side(&tail)).reservations(), ["p95"]);
        let mut unheld = kernel.clone();
        unheld.values_mut().next().unwrap().held = false;
        assert_eq!(only(40, &unheld, &kernel).reservations(), ["path not held"]);
        assert!(enough_agree(std::slice::from_ref(&near)));
        assert!(!enough_agree(&[far]) && !enough_agree(&[]));
    }

    #[test]
    fn what_is_missing_is_told() {
        // Number 3 on the kernel alone, number 9 in the simulator alone.
        let kernel = side(&[0.1, 0.2, 0.3]);
        let mut simulated = side(&[0.1, 0.2]);
        simulated.values_mut().next().unwrap().seconds.insert(9, 7.0);
        let cell = only(4, &kernel, &simulated);
        assert_eq!((cell.n, cell.figures.as_ref().unwrap().mean_ratio.value), (2, 1.0));
        let missing = ["1 missing from the kernel", "1 missing from the simulator"];
        assert_eq!(cell.reservations(), missing);
        assert!(render(&[cell]).contains(&missing.join(", ")));

        let absent = only(3, &Side::new(), &kernel);
        assert_eq!(absent.reservations(), ["too few", "3 missing from the kernel"]);
        assert!(render(std::slice::from_ref(&absent)).contains("0 of 1 cells agree"));
        let cell = serde_json::to_value(&absent).unwrap();
        assert_eq!((&cell["n"], &cell["kernel_missing"]), (&0.into(), &3.into()));
        assert_eq!(only(1, &side(&[0.1]), &side(&[0.1])).reservations(), ["too few"]);
    }
}
