//! Searches for paths on which the switcher loses, as `kirikae-lab search` does.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kirikae_algorithms::Algorithm;
use kirikae_policy::WarmStart;
use kirikae_results::While;
use kirikae_scenario::{Contender, Controls};
use kirikae_simlab::search::{self, Options, Tried};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};

use crate::columns::Columns;
use crate::errors::{Error, failed};
use crate::html::preformatted;
use crate::json::dict;
use crate::latency_table::{LatencyTable, candidates};
use crate::plan::{Names, within};
use crate::simulate::{caught, count, until_signal};
use crate::table::Table;

/// What is searched, from plain values, so that it can be searched elsewhere.
#[pyclass(frozen, module = "kirikae._kirikae")]
pub struct SearchOptions(Options);

#[pymethods]
impl SearchOptions {
    /// The arguments are those of `kirikae.search`; `table` is the text of one.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
    fn new(
        seed: i128,
        count: i128,
        climbs: i128,
        than: Names,
        new_connections: Option<&str>,
        loss: f64,
        table: Option<&str>,
        friendliness: Option<&str>,
    ) -> PyResult<SearchOptions> {
        let table = table.map(kirikae_table::LatencyTable::parse).transpose();
        let table = table.map_err(|error| Error::new_err(format!("table: {error}")))?;
        let table = table.map(|table| LatencyTable(Cow::Owned(table)));
        let chosen = candidates(table.as_ref(), friendliness)?;
        Ok(SearchOptions(Options {
            seed: within("seed", seed, 0..=u64::MAX)?,
            count: within("count", count, 1..=100_000_000)?,
            climbs: within("climbs", climbs, 0..=1000)? as usize,
            generations: search::GENERATIONS,
            than: others(than)?,
            new_connections: new_connections.map(start).transpose()?,
            loss: ratio(loss)?,
            output: None,
            controls: Controls {
                algorithms: Algorithm::all().collect(),
                table: chosen.kernel_table().into(),
                ..Controls::default()
            },
        }))
    }

    /// Searches on so many threads, and returns what came of it as MessagePack, for `Search`.
    #[pyo3(signature = (threads = None))]
    fn search<'py>(&self, threads: Option<i128>, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let options = self.0.clone();
        let found = until_signal(py, count(threads)?, move |_| found(options), |_| Ok(()))?;
        let found = found.map_err(|error| failed(py, &error))?;
        let packed = rmp_serde::to_vec(&found)
            .map_err(|error| Error::new_err(format!("results as MessagePack: {error}")))?;
        Ok(PyBytes::new(py, &packed))
    }

    /// The drawn path with this index, from 0, as the text of a scenario file.
    fn path(&self, index: i128, py: Python) -> PyResult<String> {
        let index = within("index", index, 0..=u64::MAX)?;
        search::only(&self.0, index).map_err(|error| failed(py, &error))
    }
}

fn others(than: Names) -> PyResult<Vec<Contender>> {
    let refuse = |why: String| Error::new_err(format!("than: {why}"));
    let than = than.contenders().map_err(refuse)?;
    match than.iter().find(|contender| contender.is_kirikae()) {
        Some(own) => Err(refuse(format!("found {:?}; allowed: any others", own.name()))),
        None => Ok(than),
    }
}

fn start(name: &str) -> PyResult<WarmStart> {
    WarmStart::ALL.into_iter().find(|start| start.name() == name).ok_or_else(|| {
        let allowed = WarmStart::ALL.map(WarmStart::name).join(", ");
        Error::new_err(format!("new_connections: found {name:?}; allowed: {allowed}"))
    })
}

fn ratio(loss: f64) -> PyResult<f64> {
    match loss > 1.0 && loss <= 100.0 {
        true => Ok(loss),
        false => Err(Error::new_err(format!("loss: found {loss}; allowed: above 1, up to 100"))),
    }
}

/// What came of a search, as it travels: what is told, and the files.
#[derive(Serialize, Deserialize)]
struct Found {
    seed: u64,
    json: String,
    text: String,
    finds: Vec<Find>,
    worst: Vec<Tested>,
}

/// A path on which the switcher loses.
#[derive(Serialize, Deserialize)]
struct Find {
    file: String,
    content: String,
    /// Ratio of the mean latencies as it was found.
    found: f64,
    /// As it is in the file.
    reduced: Tested,
}

/// A path that was tried, and what came of it.
#[derive(Serialize, Deserialize)]
struct Tested {
    path: u64,
    changed: bool,
    title: String,
    parts: String,
    ratio: f64,
    half_width: Option<f64>,
    repetitions: u64,
    mean_s: f64,
    best: String,
    best_mean_s: f64,
}

impl From<&Tried> for Tested {
    fn from(tried: &Tried) -> Tested {
        let Tried { path, changed, title, parts, verdict, .. } = tried;
        Tested {
            path: *path,
            changed: *changed,
            title: title.clone(),
            parts: parts.join(", "),
            ratio: verdict.ratio.value,
            half_width: verdict.ratio.half_width,
            repetitions: verdict.repetitions as u64,
            mean_s: verdict.mean_s,
            best: verdict.best.name().into(),
            best_mean_s: verdict.best_mean_s,
        }
    }
}

/// Searches, on the threads of this one's pool. What is interrupted is none.
fn found(mut options: Options) -> Result<Found, kirikae_results::Error> {
    // The laboratory writes finds into directories alone.
    let directory = tempfile::tempdir().during(|| "making a directory".into())?;
    options.output = Some(directory.path().join("found"));
    let mut report = caught(|| search::run(&options))?;
    if report.interrupted {
        return Err(kirikae_results::Error::Interrupted("nothing is kept".into()));
    }
    let mut finds = Vec::new();
    for find in &mut report.finds {
        let file = find.file.take().expect("files were asked for");
        let content = fs::read_to_string(&file).during(|| format!("reading {}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let reduced = Tested::from(&find.reduced);
        finds.push(Find { file: name, content, found: find.found.verdict.ratio.value, reduced });
    }
    Ok(Found {
        seed: report.seed,
        json: serde_json::to_string_pretty(&report).expect("a report is JSON") + "\n",
        text: search::render(&report, false),
        finds,
        worst: report.worst.iter().map(Tested::from).collect(),
    })
}

/// On which paths the switcher loses, by a search or several. `print` shows what `kirikae-lab search` prints, of
/// several one after the other.
#[pyclass(frozen, module = "kirikae")]
pub struct Search(Vec<Found>);

#[pymethods]
impl Search {
    /// Of what `SearchOptions.search` returned of each.
    #[new]
    fn new(searches: Vec<PyBackedBytes>) -> PyResult<Search> {
        let found = searches.iter().map(|packed| rmp_serde::from_slice(packed)).collect();
        let found: Result<Vec<Found>, rmp_serde::decode::Error> = found;
        found.map(Search).map_err(|error| Error::new_err(format!("results of a search: {error}")))
    }

    /// The paths on which it loses, made simple, of each search the worst first. `scenario` is the text of a scenario
    /// file.
    #[getter]
    fn finds(&self) -> Table {
        let rows = self.0.iter().flat_map(|it| it.finds.iter().map(|find| (it.seed, find)));
        let columns = of_paths(rows, |(seed, find)| (seed, &find.reduced))
            .number("found_ratio", |(_, find)| find.found)
            .text("file", |(_, find)| &find.file)
            .text("scenario", |(_, find)| &find.content);
        Table::made(columns.table())
    }

    /// Of the paths that were played again and are no finds, the worst.
    #[getter]
    fn worst(&self) -> Table {
        let rows = self.0.iter().flat_map(|it| it.worst.iter().map(|path| (it.seed, path)));
        Table::made(of_paths(rows, |row| row).table())
    }

    /// Everything as JSON: what `kirikae-lab search --json` prints, byte for byte but for `wall_s`, what it took; of
    /// several searches one after the other.
    fn to_json(&self) -> String {
        self.0.iter().map(|it| &*it.json).collect()
    }

    /// The same as a list of dicts, one for each search.
    #[getter]
    fn summaries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0.iter().map(|it| dict(&it.json, py)).collect()
    }

    /// Writes the finds as scenario files into a new or empty directory: the files of `kirikae-lab search --output`. Of
    /// several searches each has a directory in it, called by its seed. Raises Error where something is in it, or it
    /// cannot be written.
    fn write(&self, directory: PathBuf, py: Python) -> PyResult<()> {
        let written = py.detach(|| {
            fs::create_dir_all(&directory)?;
            if fs::read_dir(&directory)?.next().is_some() {
                return Err(io::Error::other("it is not empty; allowed: a new or empty directory"));
            }
            if let [Found { finds, .. }] = &self.0[..] {
                return write(&directory, finds);
            }
            self.0.iter().try_for_each(|Found { seed, finds, .. }| {
                let directory = directory.join(format!("seed-{seed}"));
                fs::create_dir(&directory)?;
                write(&directory, finds)
            })
        });
        written.map_err(|error| Error::new_err(format!("writing {}: {error}", directory.display())))
    }

    fn __str__(&self) -> String {
        self.0.iter().map(|it| &*it.text).collect()
    }

    fn __repr__(&self) -> String {
        let finds: usize = self.0.iter().map(|it| it.finds.len()).sum();
        format!("<kirikae.Search of {} seeds: {finds} finds>", self.0.len())
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.__str__())
    }
}

fn write(directory: &Path, finds: &[Find]) -> io::Result<()> {
    finds.iter().try_for_each(|find| fs::write(directory.join(&find.file), &find.content))
}

/// The columns of paths that were tried, each with the seed of its search.
fn of_paths<'a, R, I: Iterator<Item = R> + Clone>(
    rows: I,
    of: impl Fn(R) -> (u64, &'a Tested) + Copy,
) -> Columns<I> {
    let path = move |row| of(row).1;
    Columns::of(rows)
        .whole("seed", |row| of(row).0)
        .whole("path", |row| path(row).path)
        .truth("changed", |row| path(row).changed)
        .text("title", |row| &path(row).title)
        .text("parts", |row| &path(row).parts)
        .number("ratio", |row| path(row).ratio)
        .number_if_any("half_width", |row| path(row).half_width)
        .whole("repetitions", |row| path(row).repetitions)
        .number("mean_s", |row| path(row).mean_s)
        .text("best", |row| &path(row).best)
        .number("best_mean_s", |row| path(row).best_mean_s)
}
